import { destinationSecretName } from "../../api/names.ts";
import { idOf } from "../../controllers/webhook-destination/destination-types.ts";
import type { Operator } from "../../controllers/webhook-route/operator.ts";
import { entryIn } from "../../controllers/webhook-route/publishing/publications.ts";
import type { Live } from "../../kube/objects.ts";
import { refOf } from "../../kube/objects.ts";
import type { NoticeTargets } from "./destination-notices.ts";

/** Whom notices are about, as the caches of the controller have them. */
export function noticeTargets(operator: Operator): NoticeTargets {
  const { destinations, routes, publications, config } = operator;
  const { index } = destinations;
  /** Who has an id; without one that does, nobody is to be told. */
  const holderOf = (namespace: string, destination: string) => {
    const key = index.ofId(namespace, destination).find((one) => {
      const secret = destinationSecretName(config.instance, namespace, refOf(one).name);
      return destinations.publications.get(secret)?.publication?.destination === destination;
    });
    return key === undefined ? undefined : index.get(key);
  };
  const routeOf = (namespace: string, destination: string): Live | undefined => {
    const [route = ""] = destination.split("/");
    const secret = publications.inNamespace(namespace).find((one) => entryIn(one)?.route === route);
    return secret && routes.get(secret.route);
  };
  return {
    namespaces: () => index.namespaces(),
    find: (namespace, destination) =>
      destination.startsWith("~") ? holderOf(namespace, destination) : routeOf(namespace, destination),
    subject: (namespace, destination) => {
      const holder = holderOf(namespace, destination);
      if (holder === undefined) return undefined;
      const { email } = holder.spec.notify ?? {};
      return { namespace, name: holder.metadata.name, id: idOf(holder), ...(email !== undefined && { email }) };
    },
    wantsMail: (namespace) =>
      index.ofNamespace(namespace).some((key) => index.get(key)?.spec.notify?.email !== undefined),
  };
}
