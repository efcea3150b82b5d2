import { describe, expect, it } from "vitest";
import type { RouteEntry } from "../../../routes/entry.ts";
import { configOf, namedEntry } from "../testing-plan.ts";
import { policiesOf, workerRbac } from "./worker-rbac.ts";
import { workerPlace } from "./worker-place.ts";

const SCOPE = { namespace: "shop" };
const SECRETS = ["davit-default-shared-0"];
const SHARED = configOf({ redis: { urlFile: "/redis/url", users: "Shared" } });

/** Rules by the Role's namespace, and who has them. */
function rightsOf(release: ReturnType<typeof configOf>, policies: readonly string[]) {
  const objects = workerRbac(workerPlace(SCOPE, release), SECRETS, { ...SCOPE, policies });
  const of = (kind: string) => objects.filter((object) => object.kind === kind) as readonly Record<string, unknown>[];
  const namespaceOf = ({ metadata }: Record<string, unknown>) => (metadata as { namespace: string }).namespace;
  return {
    rules: Object.fromEntries(of("Role").map((role) => [namespaceOf(role), role["rules"]])),
    bound: of("RoleBinding").map((binding) => [namespaceOf(binding), binding["subjects"]]),
  };
}

const CONFIG = { apiGroups: [""], resources: ["secrets"], resourceNames: SECRETS, verbs: ["get", "list", "watch"] };
const RUNS = [
  { apiGroups: ["davit.dev"], resources: ["cleanuppolicies"], resourceNames: ["a", "b"], verbs: ["get"] },
  { apiGroups: ["davit.dev"], resources: ["cleanupruns"], verbs: ["get", "create"] },
];

describe("what workers may do", () => {
  it("is to read their config, where no route of theirs starts cleanups", () => {
    expect(rightsOf(configOf(), []).rules).toEqual({ shop: [CONFIG] });
    expect(rightsOf(SHARED, []).rules).toEqual({ [SHARED.namespace]: [CONFIG] });
  });

  it("is to make runs as well, and to read the policies that their routes name and no others", () => {
    expect(rightsOf(configOf(), ["a", "b"]).rules).toEqual({ shop: [CONFIG, ...RUNS] });
  });

  it("is granted where the runs are, to workers in the release's namespace too", () => {
    const { rules, bound } = rightsOf(SHARED, ["a", "b"]);
    expect(rules).toEqual({ [SHARED.namespace]: [CONFIG], shop: RUNS });
    const [account] = bound.map(([, subjects]) => subjects);
    expect(account).toMatchObject([{ kind: "ServiceAccount", namespace: SHARED.namespace }]);
    expect(bound).toEqual([
      [SHARED.namespace, account],
      ["shop", account],
    ]);
  });
});

describe("the policies of routes", () => {
  const entry = namedEntry("orders");
  const withPolicies = (...policies: string[]): RouteEntry => ({
    ...entry,
    destinations: policies.flatMap((policy) =>
      entry.destinations.map((one) => ({ ...one, target: { type: "cleanup" as const, policy } })),
    ),
  });

  it("are named once each, in an order that is always the same", () => {
    expect(policiesOf([entry])).toEqual([]);
    expect(policiesOf([entry, withPolicies("b", "a"), withPolicies("b")])).toEqual(["a", "b"]);
  });
});
