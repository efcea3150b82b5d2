import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../kube/objects.ts";
import { exposureState } from "./exposure-state.ts";
import { hostOf } from "../testing-plan.ts";

const INGRESS = hostOf({ className: "nginx" });
const GATEWAY = hostOf({
  via: "HTTPRoute",
  parentRefs: [
    { name: "public", namespace: "gateways" },
    { name: "own", sectionName: "https" },
  ],
});

const AT = { place: { host: "hooks.example.com", path: "/a" } };
const EXACT = hostOf({ className: "nginx", paths: "Exact" });

const ingress = (addresses: unknown, path = "/", host = "hooks.example.com"): KubeObject => {
  const object = {
    metadata: { name: "i", namespace: "davit-system" },
    spec: { rules: [{ host, http: { paths: [{ path, pathType: "Prefix" }] } }] },
    status: { loadBalancer: { ingress: addresses } },
  };
  return object;
};

type Parent = { ref: Record<string, string>; conditions: Record<string, string>; observed?: number };
const OK = { Accepted: "True", ResolvedRefs: "True" };
const PUBLIC: Parent = { ref: { name: "public", namespace: "gateways" }, conditions: OK };
const OWN: Parent = { ref: { name: "own", sectionName: "https" }, conditions: OK };

function httpRoute(parents: readonly Parent[]): KubeObject {
  const object = {
    metadata: { name: "r", namespace: "shop", generation: 2 },
    spec: { hostnames: ["hooks.example.com"], rules: [{ matches: [{ path: { type: "PathPrefix", value: "/" } }] }] },
    status: {
      parents: parents.map(({ ref, conditions, observed = 2 }) => ({
        parentRef: ref,
        conditions: Object.entries(conditions).map(([type, status]) => ({
          type,
          status,
          reason: `${type}Reason`,
          observedGeneration: observed,
        })),
      })),
    },
  };
  return object;
}

describe("an Ingress", () => {
  it("is ready when it has an address", () => {
    expect(exposureState(INGRESS, [ingress([{ ip: "192.0.2.1" }])], AT)).toMatchObject({ status: "True" });
  });

  it.each([[[]], [undefined], ["x"]])("is not ready with the addresses %j, and says whose turn it is", (addresses) => {
    const { status, reason, message } = exposureState(INGRESS, [ingress(addresses)], AT);
    expect([status, reason]).toEqual(["False", "IngressNotAdmitted"]);
    expect(message).toContain("IngressClass nginx");
  });

  it("is not ready while a part of it is missing", () => {
    expect(exposureState(INGRESS, [ingress([{ ip: "192.0.2.1" }]), undefined], AT)).toMatchObject({
      status: "False",
      reason: "Progressing",
    });
  });
});

describe("a path of its own", () => {
  const READY = [{ ip: "192.0.2.1" }];

  it("has to be in the live Ingress of the host, at the route's host", () => {
    expect(exposureState(EXACT, [ingress(READY, "/a"), ingress(READY, "/b")], AT).status).toBe("True");
    for (const live of [ingress(READY, "/b"), ingress(READY, "/a", "other.example.com")]) {
      const { status, reason, message } = exposureState(EXACT, [live], AT);
      expect([status, reason]).toEqual(["False", "Progressing"]);
      expect(message).toContain("path /a");
    }
  });

  it("that the API server refuses is told with its words, but not to routes whose path is there", () => {
    const refused = { ...AT, refusal: "admission webhook denied the request" };
    const { status, reason, message } = exposureState(EXACT, [ingress(READY, "/b")], refused);
    expect([status, reason]).toEqual(["False", "IngressNotAdmitted"]);
    expect(message).toContain("admission webhook denied the request");
    expect(exposureState(EXACT, [undefined], refused).reason).toBe("IngressNotAdmitted");
    expect(exposureState(EXACT, [ingress(READY, "/a")], refused).status).toBe("True");
  });

  it("is missing in an HTTPRoute that has another one", () => {
    const exact = hostOf({ via: "HTTPRoute", paths: "Exact", parentRefs: GATEWAY.parentRefs });
    expect(exposureState(exact, [httpRoute([OWN, PUBLIC])], AT)).toMatchObject({
      status: "False",
      reason: "Progressing",
    });
    expect(exposureState(exact, [httpRoute([OWN, PUBLIC])], { place: { ...AT.place, path: "/" } }).status).toBe("True");
  });
});

describe("HTTPRoutes", () => {
  it("are ready when every Gateway accepted them", () => {
    expect(exposureState(GATEWAY, [httpRoute([OWN, PUBLIC])], AT).status).toBe("True");
  });

  it("may name the Gateway of their own namespace with or without it", () => {
    const own = { ...OWN, ref: { ...OWN.ref, namespace: "shop" } };
    expect(exposureState(GATEWAY, [httpRoute([own, PUBLIC])], AT).status).toBe("True");
  });

  it.each<[string, readonly Parent[], string]>([
    ["one said nothing", [PUBLIC], "Gateway shop/own"],
    [
      "one speaks of another listener",
      [PUBLIC, { ...OWN, ref: { name: "own", sectionName: "http" } }],
      "Gateway shop/own",
    ],
    ["one refused", [OWN, { ...PUBLIC, conditions: { ...OK, Accepted: "False" } }], "(Accepted: AcceptedReason)"],
    [
      "the grant is missing",
      [OWN, { ...PUBLIC, conditions: { ...OK, ResolvedRefs: "False" } }],
      "(ResolvedRefs: ResolvedRefsReason)",
    ],
    ["one saw the generation before", [OWN, { ...PUBLIC, observed: 1 }], "Gateway gateways/public"],
  ])("are not ready when %s", (_, parents, text) => {
    const { status, reason, message } = exposureState(GATEWAY, [httpRoute(parents)], AT);
    expect([status, reason]).toEqual(["False", "GatewayNotAccepted"]);
    expect(message).toContain(text);
  });

  it("are ready only together", () => {
    expect(exposureState(GATEWAY, [httpRoute([OWN, PUBLIC]), httpRoute([])], AT).status).toBe("False");
  });
});

it("a host that is exposed by other means is taken to be ready", () => {
  expect(exposureState(hostOf({ via: "None" }), [], AT)).toMatchObject({ status: "True", reason: "NotExposed" });
});
