import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { describe, expect, it } from "vitest";
import { configKeys, formatKey } from "../../src/config/keys.ts";
import { FROM_CONFIG, valuesJsonSchema } from "../../tools/generators/values-schema.ts";
import { CHART } from "../support/chart.ts";

const text = readFileSync(join(CHART, "values.yaml"), "utf8");

interface Node {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly additionalProperties?: unknown;
}

/** Config keys that no value sets, and why. */
const NOT_FROM_VALUES: Readonly<Record<string, string>> = {
  release: "the release's name",
  namespace: "the release's namespace",
  "redis.urlFile": "where the Secret is mounted",
  "redis.users": "a value with a default of its own",
  "kubernetes.server": "in the cluster",
  "kubernetes.tokenFile": "in the cluster",
  "kubernetes.caFile": "in the cluster",
  "kubernetes.kubeconfig": "in the cluster",
  "kubernetes.context": "in the cluster",
  "controller.adminPort": "the port of the probes",
  "controller.address": "all addresses of the Pod",
  "controller.identity": "the Pod's name",
  "controller.service.name": "the release's name",
  "controller.service.port": "a value that may not be 0",
  "controller.smtp.host": "a value that may be empty: nothing is sent",
  "controller.smtp.port": "a value with a default of its own",
  "controller.smtp.from": "a value that may be empty while there is no host",
  "controller.smtp.userFile": "where the Secret is mounted",
  "controller.smtp.passwordFile": "where the Secret is mounted",
  "controller.smtp.caFile": "where the Secret is mounted",
  "redis.gatewaySecretName": "a name of the instance",
  "gateway.port": "the port of the Service",
  "gateway.address": "all addresses of the Pod",
  "gateway.adminPort": "the port of the probes",
  "gateway.api.port": "the port of the Service",
  "gateway.cacheDir": "where the volume is mounted",
  "gateway.podName": "from the Pod",
  "gateway.podUid": "from the Pod",
  "gateway.service.name": "the release's name",
  "gateway.service.port": "a value that may not be 0",
  "redis.consoleSecretName": "a name of the instance",
  "console.port": "the port of the Service",
  "console.destinationPort": "the port of the Service",
  "console.address": "all addresses of the Pod",
  "console.adminPort": "the port of the probes",
  "workers.image": "a value with a default of its own",
  "workers.defaults.resources.requests": "a value in the form of a Pod",
  "workers.defaults.resources.limits": "a value in the form of a Pod",
  "cleaners.image": "a value with a default of its own",
  "cleaners.resources.requests": "a value in the form of a Pod",
  "cleaners.resources.limits": "a value in the form of a Pod",
};

/** Keys of the values that hold a value, as paths. */
function leaves(node: Node, path: string): [path: string, node: Node][] {
  const isSection = node.properties !== undefined && node.description === undefined;
  if (!isSection) return [[path, node]];
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) =>
    leaves(child, path === "" ? name : `${path}.${name}`),
  );
}

describe("values.schema.json", () => {
  const schema = valuesJsonSchema(text) as Node;

  it("is closed in every section", () => {
    const open = (node: Node, path: string): string[] => {
      if (node.properties === undefined) return [];
      const here = node.additionalProperties === false ? [] : [path];
      return [...here, ...Object.entries(node.properties).flatMap(([name, child]) => open(child, `${path}.${name}`))];
    };
    expect(open(schema, "")).toEqual([]);
  });

  it("describes every value", () => {
    const silent = leaves(schema, "").filter(([path, { description }]) => path !== "global" && !description);
    expect(silent.map(([path]) => path)).toEqual([]);
  });

  it("leaves no key of the config out of reach without a reason", () => {
    const paths = configKeys()
      .map(({ path }) => formatKey(path))
      .filter((path) => !path.includes("[]") && !path.startsWith("worker.") && !path.startsWith("cleaner."));
    const reached = new Set(Object.values(FROM_CONFIG));
    expect(paths.filter((path) => !reached.has(path)).toSorted()).toEqual(Object.keys(NOT_FROM_VALUES).toSorted());
  });

  it("cannot be made while a value has no comment", () => {
    expect(() => valuesJsonSchema("a:\n  # about b\n  b: 1\n  c: 2\n")).toThrow("a.c has no comment");
  });

  it("takes each value's default for valid", () => {
    // Helm itself validates them whenever the chart is rendered; here only that there are some.
    expect(Object.keys(parse(text) as object)).toEqual(
      Object.keys(schema.properties ?? {}).filter((key) => key !== "global"),
    );
  });
});
