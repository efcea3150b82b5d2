import { routeKey } from "../../api/names.ts";
import { WEBHOOK_ROUTES } from "../../controllers/webhook-route/route-types.ts";
import { KubeClient } from "../../kube/client.ts";
import { NAMESPACES } from "../../kube/core-types.ts";
import { KubeApiError, KubeConfigError, KubeConnectionError } from "../../kube/errors.ts";
import { findAuth } from "../../kube/kubeconfig.ts";
import { KubeTransport } from "../../kube/transport.ts";
import { createMetrics } from "../../observability/metrics.ts";
import { CommandError } from "../command.ts";

/** A route that exists, with the key its events have. */
export interface LiveRoute {
  readonly namespace: string;
  readonly name: string;
  readonly route: string;
}

export interface ClusterFlags {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

/**
 * The WebhookRoutes of a namespace of a cluster, by their keys. A namespace that does not exist has none.
 * @throws CommandError when the cluster does not say
 */
export async function liveRoutes(
  namespace: string,
  instance: string,
  { kubeconfig: file, context }: ClusterFlags,
): Promise<readonly LiveRoute[]> {
  let transport: KubeTransport | undefined;
  try {
    const auth = await findAuth({ file, context });
    transport = new KubeTransport({ auth, metrics: createMetrics(), userAgent: "davit-cli" });
    const client = new KubeClient(transport);
    const home = await client.resource(NAMESPACES).find({ name: namespace });
    if (home === undefined) return [];
    const { items } = await client.resource(WEBHOOK_ROUTES).list(namespace);
    return items
      .filter(({ spec }) => (spec.instance ?? "default") === instance)
      .map(({ metadata: { name } }) => ({ namespace, name, route: routeKey(home.metadata.uid, name) }));
  } catch (error) {
    const isTold =
      error instanceof KubeApiError || error instanceof KubeConfigError || error instanceof KubeConnectionError;
    if (!isTold) throw error;
    throw new CommandError(
      `cannot tell which routes live: ${error.message}. Give --kubeconfig and --context, or --no-cluster to go by the shelves alone`,
    );
  } finally {
    await transport?.close();
  }
}
