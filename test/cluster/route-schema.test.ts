import { beforeAll, describe, expect, test } from "vitest";
import { crdSchema } from "../../src/api/crd.ts";
import type { Problem } from "../../src/api/problem.ts";
import { checkStructure, validateRoute } from "../../src/api/validation.ts";
import { sharedCluster } from "../support/cluster.ts";
import { type Answer, type KubeObject, PATCH } from "../support/control-plane/client.ts";
import { readCrds } from "../support/control-plane/crds.ts";
import { type CrdFixture, crdFixtures } from "../support/crd-fixtures.ts";
import { mutationsOf, schemaPaths } from "../support/crd-mutations.ts";

// A WebhookRoute is checked alike by the API server and by `davit validate` (docs/decisions/0005).
const cluster = sharedCluster();
let namespace: string;
let routes: string;
beforeAll(async () => {
  namespace = await cluster.namespace();
  routes = `/apis/davit.dev/v1alpha1/namespaces/${namespace}/webhookroutes`;
});

/** As `kubectl apply` does by default: unknown fields are refused. */
const STRICT = "dryRun=All&fieldValidation=Strict";
const here = (object: KubeObject) => ({ ...object, metadata: { ...object.metadata, namespace } });

/** What the server says to a fixture that is created, or replaces its predecessor. */
async function submit({ object, previous }: CrdFixture): Promise<Answer<KubeObject>> {
  if (previous === undefined) return cluster.admin.request("POST", `${routes}?${STRICT}`, here(object));
  const { resourceVersion } = (await cluster.admin.create(routes, here(previous))).metadata;
  const replaced = { ...here(object), metadata: { ...here(object).metadata, resourceVersion } };
  const answer = await cluster.admin.request("PUT", `${routes}/${object.metadata.name}?${STRICT}`, replaced);
  await cluster.admin.delete(`${routes}/${object.metadata.name}`);
  return answer;
}

const applyOnServer = ({ object }: CrdFixture) => {
  const query = `${STRICT}&fieldManager=test&force=true`;
  return cluster.admin.request("PATCH", `${routes}/${object.metadata.name}?${query}`, here(object), PATCH.apply);
};

interface Cause {
  readonly field: string;
  readonly message: string;
}

/** The causes of a refusal that stand for themselves: not those that follow from another one. */
function causesOf({ body }: Answer<KubeObject>): Cause[] {
  const causes: Cause[] = body["details"]?.causes ?? [];
  return causes.filter(({ field, message }) => field !== "<nil>" && !message.includes("type conversion error"));
}

const unknownFields = ({ body }: Answer<KubeObject>) =>
  [...String(body["message"]).matchAll(/unknown field "([^"]+)"/g)].map(([, field = ""]) => field);

describe("every CRD", () => {
  const names = ["crds", "test/support/crds"].flatMap(readCrds).map(({ metadata }) => metadata.name);
  test.each(names)("%s is accepted as it stands", async (name) => {
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
    const { status } = await cluster.admin.get(path);
    const conditions = Object.fromEntries(
      status.conditions.map((each: { type: string; status: string }) => [each.type, each.status]),
    );
    // A structural schema that breaks a rule of Kubernetes is stored, and says so in NonStructuralSchema.
    expect(conditions).toEqual({ NamesAccepted: "True", Established: "True", ...approvalOf(name) });
  });
});

/** Of groups that belong to Kubernetes only; nobody has approved our stand-ins. */
const approvalOf = (name: string) =>
  name.endsWith(".k8s.io") ? { KubernetesAPIApprovalPolicyConformant: "False" } : {};

describe("a manifest that is valid, or refused by Davit only", () => {
  test.each([...crdFixtures("valid"), ...crdFixtures("refused")])(
    "$name is accepted by the server",
    async (fixture) => {
      const { status, body } = await submit(fixture);
      expect([status, body["message"]]).toEqual([fixture.previous === undefined ? 201 : 200, undefined]);
      // A field that is null is dropped at creation, and refused when it is applied server-side.
      expect((await applyOnServer(fixture)).status).toBe(fixture.name === "nulls" ? 422 : 201);
      expect(checkStructure(fixture.object, fixture.previous)).toEqual([]);
    },
  );
});

describe("a manifest that breaks one rule of the CRD", () => {
  test.each(crdFixtures("invalid"))("$name is refused by the server for that rule: $path: $text", async (fixture) => {
    const answer = await submit(fixture);
    expect([400, 422]).toContain(answer.status);
    const unknown = unknownFields(answer);
    const fields = unknown.length > 0 ? unknown : causesOf(answer).map(({ field }) => field);
    expect([...new Set(fields)]).toEqual([fixture.path]);
    expect(answer.body["message"]).toContain(fixture.text);
    const problems = validateRoute(fixture.object, { previous: fixture.previous }).problems;
    expect(problems.filter(({ severity }) => severity === "error").map(({ path }) => path)).toEqual([fixture.path]);
  });

  // The server itself drops what it does not know in an object without fields, when it is applied server-side.
  const APPLIED = crdFixtures("invalid").filter(
    ({ name, previous }) => previous === undefined && name !== "unknown-field-of-empty-object",
  );
  test.each(APPLIED)("$name is refused when it is applied server-side as well", async (fixture) => {
    expect((await applyOnServer(fixture)).status).toBeGreaterThanOrEqual(400);
  });
});

describe("each limit of the schema, broken and just kept", () => {
  const schema = crdSchema("WebhookRoute");
  const seen = new Set<string>();
  const fixtures = [...crdFixtures("valid"), ...crdFixtures("refused")];
  const mutations = fixtures.flatMap(({ object }) => mutationsOf(schema, object, seen));

  test("is reached: the fixtures have every field there is", () => {
    expect(schemaPaths(schema).filter((path) => !seen.has(path))).toEqual([]);
    expect(mutations.length).toBeGreaterThan(2_000);
  });

  // kube-openapi looks at the format and passes over the type of an empty list. Davit refuses it.
  const KNOWN = [".spec.secretRefs[].notAfter: []", ".spec.verification.allowedSourceRanges[]: []"];

  test("means the same to the server and to the offline check, and names the same fields", async () => {
    const queue = mutations.filter(({ name }) => !KNOWN.includes(name));
    const differences: string[] = [];
    const count = { accepted: 0, refused: 0 };
    const work = async () => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const object = here(next.object as KubeObject);
        const answer = await cluster.admin.request("POST", `${routes}?${STRICT}`, object);
        count[answer.status < 400 ? "accepted" : "refused"]++;
        const difference = compare(answer, checkStructure(object));
        if (difference !== undefined) differences.push(`${next.name}: ${difference}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, work));
    expect(differences).toEqual([]);
    expect(count.accepted).toBeGreaterThan(500);
    expect(count.refused).toBeGreaterThan(1_000);
  }, 300_000);

  test("but for the server's one leniency, of which Davit makes an error", async () => {
    const known = mutations.filter(({ name }) => KNOWN.includes(name));
    expect(known).toHaveLength(KNOWN.length);
    for (const { object } of known) {
      expect((await cluster.admin.request("POST", `${routes}?${STRICT}`, here(object as KubeObject))).status).toBe(201);
      expect(checkStructure(object)).toHaveLength(1);
    }
  });
});

/** How the server's answer and our problems differ; undefined when they agree. */
function compare(answer: Answer<KubeObject>, problems: readonly Problem[]): string | undefined {
  const say = () => `server ${answer.status} ${String(answer.body["message"])}, we ${JSON.stringify(problems)}`;
  if (answer.status < 400 || problems.length === 0) {
    return answer.status < 400 && problems.length === 0 ? undefined : say();
  }
  // A strict decoder stops at unknown fields, and we go on.
  if (answer.status === 400) return unknownFields(answer).length > 0 ? undefined : say();
  const theirs = new Set((answer.body["details"].causes as Cause[]).map(({ field }) => field));
  // Where the schema is broken, the server evaluates some rules of the objects around as well, and we do not.
  const ofSchema = problems.filter(({ source }) => source === "schema");
  const ours = new Set((ofSchema.length > 0 ? ofSchema : problems).map(({ path }) => path));
  const rest = ofSchema.length > 0 ? [] : causesOf(answer).filter(({ field }) => !ours.has(field));
  return [...ours].every((path) => theirs.has(path)) && rest.length === 0 ? undefined : say();
}
