import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { configKeys, variableOf } from "./keys.ts";
import { loadCleanerConfig, loadConfig, parseConfig } from "./load.ts";
import { ConfigError } from "./problem.ts";

const LEAST = "redis: { urlFile: /etc/davit/redis/url }";

function errorOf(text: string, env: Record<string, string> = {}): ConfigError | undefined {
  try {
    parseConfig(text, env, "davit.yaml");
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  return undefined;
}

function problemsOf(text: string, env: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries((errorOf(text, env)?.problems ?? []).map(({ where, message }) => [where, message]));
}

describe("a config", () => {
  it("needs no more than the file with the Redis URL", () => {
    const config = parseConfig(LEAST, {}, "davit.yaml");
    expect(config).toMatchObject({ release: "davit", gateway: { port: 8080, service: { port: 80 } } });
  });

  it("of a cleaner comes by variables alone, without Redis, and must name the policy", () => {
    const env = { DAVIT_CLEANER_NAMESPACE: "shop", DAVIT_CLEANER_POLICY: "expired", DAVIT_CLEANER_CONCURRENCY: "2" };
    const { cleaner, instance } = loadCleanerConfig(undefined, env);
    expect({ cleaner, instance }).toMatchObject({
      cleaner: { namespace: "shop", policy: "expired", concurrency: 2, adminPort: 9090 },
      instance: "default",
    });
    expect(() => loadCleanerConfig(undefined, { DAVIT_CLEANER_NAMESPACE: "shop" })).toThrow(/cleaner\.policy/);
  });

  it("is frozen in depth", () => {
    const config = parseConfig(`${LEAST}\ngateway: { hosts: [{ host: a.example }] }`, {}, "davit.yaml");
    for (const part of [config, config.gateway, config.gateway.hosts, config.gateway.hosts[0]]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  it("may be empty when the environment says what is required", () => {
    expect(parseConfig("", { DAVIT_REDIS_URL_FILE: "/url" }, "davit.yaml").redis.urlFile).toBe("/url");
  });

  it("tells all its problems at once", () => {
    const problems = problemsOf(
      `
      gateway:
        prot: 1
        port: 70000
        trustedProxies: [10.0.0.0/40]
        hosts: [{ via: HTTPRoute, pathPrefix: a }]
      rbac: { scope: Namespaces }
      controller: 5
      workers: { imagePullPolicy: never, imagePullSecrets: [a, b, c, d, e, f, g, h, i] }`,
      { DAVIT_LOG_LEVEL: "loud" },
    );
    expect(problems).toEqual({
      "redis.urlFile": expect.stringMatching(/^is missing; write it: File with the Redis URL/),
      "rbac.namespaces": "is empty, but scope is Namespaces: name those that may have routes",
      controller: "must be a section of keys, not a number",
      "gateway.port": "must be a whole number from 0 to 65535",
      "gateway.prot": "no such key; did you mean gateway.port?",
      "gateway.trustedProxies[0]": "is no address range: write it as 10.0.0.0/8 or fd00::/8",
      "gateway.hosts[0].host": "is missing; write it: Host name, lower case.",
      "gateway.hosts[0].pathPrefix": "must start with /",
      "gateway.hosts[0].parentRefs": "is empty, but an HTTPRoute needs a Gateway: name at least one",
      "workers.imagePullPolicy": "must be one of Always, IfNotPresent, Never; did you mean Never?",
      "workers.imagePullSecrets": "has 9 entries; at most 8 are possible",
      "DAVIT_LOG_LEVEL (logLevel)": "must be one of debug, info, warn, error",
    });
  });
});

describe("the error of a config", () => {
  it("has a code, and a line for each problem", () => {
    const error = errorOf(`${LEAST}\ngateway: { port: x, address: 1 }`);
    expect(error?.code).toBe("Config");
    expect(error?.message).toBe(
      [
        "the config davit.yaml has 2 problems:",
        "  gateway.port: must be a whole number from 0 to 65535",
        "  gateway.address: must be a text, not a number",
      ].join("\n"),
    );
  });
});

describe("an unknown key", () => {
  it("is refused with the nearest one of its section", () => {
    expect(problemsOf("redis: { urlFil: /url }")["redis.urlFil"]).toBe("no such key; did you mean redis.urlFile?");
  });

  it("is refused with the place where it belongs", () => {
    expect(problemsOf(`${LEAST}\ncacheDir: /cache`)).toEqual({
      cacheDir: "no such key here; did you mean gateway.cacheDir?",
    });
  });

  it("is refused inside a map of sections", () => {
    expect(problemsOf(`${LEAST}\nworkers: { namespaces: { shop: { replica: 1 } } }`)).toEqual({
      "workers.namespaces.shop.replica": "no such key; did you mean workers.namespaces.shop.replicas?",
    });
  });
});

describe("a secret in the wrong place", () => {
  const URL = "redis://:hunter2@redis:6379";

  it.each([
    ["under a key of its own", `redis: { urlFile: /url, url: "${URL}" }`, {}],
    ["in place of the path", `redis: { urlFile: "${URL}" }`, {}],
    ["in the environment", LEAST, { DAVIT_REDIS_URL: URL }],
    ["in the environment, in place of the path", LEAST, { DAVIT_REDIS_URL_FILE: URL }],
    ["as text that is no valid YAML", `${LEAST}\nredis: { url: "${URL}`, {}],
    ["where a number belongs", `${LEAST}\ngateway: { port: "${URL}" }`, {}],
    ["as a certificate", `${LEAST}\nkubernetes: { caFile: "hunter2\\nhunter2" }`, {}],
  ])("is refused and not repeated: %s", (_, text, env) => {
    const problems = problemsOf(text, env);
    expect(Object.keys(problems)).not.toHaveLength(0);
    expect(JSON.stringify(problems)).not.toContain("hunter2");
  });

  it("is answered with the key that takes a file", () => {
    expect(problemsOf(`redis: { urlFile: /url, url: "${URL}" }`)["redis.url"]).toBe(
      "secrets stay out of the config: write it to a file of its own and name that in redis.urlFile",
    );
    expect(problemsOf(LEAST, { DAVIT_REDIS_URL: URL })["DAVIT_REDIS_URL"]).toMatch(
      /name that in DAVIT_REDIS_URL_FILE$/,
    );
  });
});

describe("the environment", () => {
  it("overrides scalars by the type of the key", () => {
    const config = parseConfig(
      `${LEAST}\ngateway: { port: 1 }`,
      { DAVIT_GATEWAY_PORT: "8081", DAVIT_GATEWAY_SERVICE_NAME: "edge", DAVIT_GATEWAY_POD_UID: "1234" },
      "davit.yaml",
    );
    expect(config.gateway).toMatchObject({ port: 8081, podUid: "1234", service: { name: "edge", port: 80 } });
  });

  it("is refused where it overrides nothing, with the nearest variable", () => {
    expect(problemsOf(LEAST, { DAVIT_REDS_USERS: "Shared" })).toEqual({
      DAVIT_REDS_USERS: "overrides no key; did you mean DAVIT_REDIS_USERS?",
    });
    expect(problemsOf(LEAST, { DAVIT_GATEWAY_HOSTS: "[]" })["DAVIT_GATEWAY_HOSTS"]).toMatch(/lists and maps have none/);
  });

  it("is refused where a number belongs and none is", () => {
    expect(problemsOf(LEAST, { DAVIT_GATEWAY_PORT: "80 " })).toEqual({
      "DAVIT_GATEWAY_PORT (gateway.port)": "must be a whole number from 0 to 65535",
    });
  });

  it("may hold what Kubernetes says about a Service named davit-gateway", () => {
    const links = {
      DAVIT_GATEWAY_SERVICE_HOST: "10.96.0.7",
      DAVIT_GATEWAY_SERVICE_PORT: "443",
      DAVIT_GATEWAY_SERVICE_PORT_HTTP: "443",
      DAVIT_GATEWAY_PORT: "tcp://10.96.0.7:443",
      DAVIT_GATEWAY_PORT_443_TCP_ADDR: "10.96.0.7",
    };
    const { gateway } = parseConfig(LEAST, links, "davit.yaml");
    expect([gateway.port, gateway.service.port]).toEqual([8080, 80]);
  });

  it("has one variable for each scalar, no two alike", () => {
    const variables = configKeys().flatMap(({ variable }) => (variable === undefined ? [] : [variable]));
    expect(new Set(variables).size).toBe(variables.length);
    expect(variables).toContain("DAVIT_CONTROLLER_CLAIM_HOLD_MS");
    expect(variableOf(["redis", "urlFile"])).toBe("DAVIT_REDIS_URL_FILE");
  });
});

describe("a config file", () => {
  const directory = mkdtempSync(join(tmpdir(), "davit-config-"));
  afterAll(() => rmSync(directory, { recursive: true }));

  it("is read from disk", () => {
    const file = join(directory, "davit.yaml");
    writeFileSync(file, `${LEAST}\nrelease: edge\n`);
    expect(loadConfig(file, {}).release).toBe("edge");
  });

  it("that cannot be read says so and what to do", () => {
    const file = join(directory, "none.yaml");
    expect(() => loadConfig(file, {})).toThrow(
      `cannot read the config ${file} (ENOENT): name a readable YAML file with --config`,
    );
  });

  it("names the line where its YAML breaks", () => {
    expect(problemsOf(`${LEAST}\nredis: {}\n`)).toEqual({ "line 2": "is no valid YAML (DUPLICATE_KEY)" });
  });

  it.each(["[]", "text"])("that is no map of sections is refused: %s", (text) => {
    expect(Object.keys(problemsOf(text))).toEqual(["the file"]);
  });
});
