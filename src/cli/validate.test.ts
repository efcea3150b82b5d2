import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { UsageError } from "./command.ts";
import { command } from "./validate.ts";

const VALID = new URL("../../test/crds/valid/", import.meta.url).pathname;
const INVALID = new URL("../../test/crds/invalid/", import.meta.url).pathname;
const REFUSED = new URL("../../test/crds/refused/", import.meta.url).pathname;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "davit-validate-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

async function run(...argv: string[]) {
  const written = { stdout: "", stderr: "" };
  const sink = (name: keyof typeof written) => ({ write: (text: string) => (written[name] += text) });
  const code = await command.run(argv, { stdout: sink("stdout"), stderr: sink("stderr") });
  return { code, ...written };
}

describe("davit validate", () => {
  test("accepts a valid file", async () => {
    expect(await run("-f", join(VALID, "minimal.yaml"))).toEqual({ code: 0, stdout: "1 route(s) valid\n", stderr: "" });
  });

  test("prints file, object, field, message and remedy of a problem and exits 1", async () => {
    const file = join(INVALID, "url-insecure.yaml");
    const { code, stderr } = await run("-f", file);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `${file}: WebhookRoute shop/url-insecure: spec.destinations[0].url: url must be https: use an https URL, or set allowInsecureHTTP: true for this destination\n`,
    );
  });

  test("shows a warning and still exits 0", async () => {
    const { code, stderr } = await run("-f", join(VALID, "none.yaml"));
    expect(code).toBe(0);
    expect(stderr).toContain("warning: spec.dedupe.keyFrom: ");
  });

  test("warns of a Secret beside the route that lacks its key, and is silent on Secrets that are not there", async () => {
    const file = join(directory, "secret.yaml");
    const secret = (key: string) =>
      `{kind: Secret, apiVersion: v1, metadata: {name: github, namespace: shop}, stringData: {${key}: a}}`;
    await writeFile(file, secret("other"));
    const { code, stderr } = await run("-f", join(VALID, "minimal.yaml"), "-f", file);
    expect(code).toBe(0);
    expect(stderr).toContain("warning: spec.secretRefs[0]: Secret github has no key secret; it has: other");
    await writeFile(file, secret("secret"));
    expect(await run("-f", join(VALID, "minimal.yaml"), "-f", file)).toMatchObject({ code: 0, stderr: "" });
  });

  test("checks changes with --previous", async () => {
    const file = join(INVALID, "instance-changed.yaml");
    expect((await run("-f", file)).code).toBe(0);
    const { code, stderr } = await run("-f", file, "--previous", join(INVALID, "instance-changed.previous.yaml"));
    expect(code).toBe(1);
    expect(stderr).toContain("instance is immutable");
  });

  test("reads WebhookDestinations beside routes, with what each leaves open", async () => {
    const destination = join(VALID, "../webhook-destination/valid/minimal.yaml");
    const files = ["-f", join(VALID, "minimal.yaml"), "-f", destination];
    expect(await run(...files)).toEqual({ code: 0, stdout: "1 route(s) and 1 destination(s) valid\n", stderr: "" });
    const { stdout } = await run("-f", destination, "--effective");
    expect(parse(stdout)).toMatchObject({ spec: { id: "acme-eu", suspend: false } });
    expect(stdout).not.toContain("timeout");
    const changed = join(INVALID, "../webhook-destination/invalid/id-added");
    const { code, stderr } = await run("-f", `${changed}.yaml`, "--previous", `${changed}.previous.yaml`);
    expect(code).toBe(1);
    expect(stderr).toContain("WebhookDestination shop/acme-eu: spec.id: id is immutable");
  });

  test("warns of a WebhookDestination that a route names and no manifest has", async () => {
    const reference = join(VALID, "destination-ref.yaml");
    const destination = join(VALID, "../webhook-destination/valid/minimal.yaml");
    const alone = await run("-f", reference);
    expect(alone.code).toBe(0);
    expect(alone.stderr).toContain(
      "WebhookRoute shop/destination-ref: warning: spec.destinations[0].destinationRef: no manifest here has a WebhookDestination acme-eu in namespace shop",
    );
    expect((await run("-f", reference, "-f", destination)).stderr).toBe("");
  });

  test("refuses an id that two WebhookDestinations of a namespace want", async () => {
    const file = join(directory, "destinations.yaml");
    const manifest = (name: string, namespace: string) =>
      `{kind: WebhookDestination, apiVersion: davit.dev/v1alpha1, metadata: {name: ${name}, namespace: ${namespace}}, spec: {id: A-17, url: "https://a.example.com/"}}`;
    await writeFile(file, [manifest("b", "shop"), manifest("a", "shop"), manifest("c", "lab")].join("\n---\n"));
    const { code, stderr } = await run("-f", file);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `${file}: WebhookDestination shop/b: spec.id: the id "A-17" belongs to WebhookDestination a: choose another id, or delete that one\n`,
    );
  });

  test("prints the resolved spec with --effective", async () => {
    const { code, stdout } = await run("-f", join(VALID, "minimal.yaml"), "--effective");
    expect(code).toBe(0);
    expect(parse(stdout)).toMatchObject({
      spec: {
        rotation: { overlap: "24h" },
        destinations: [{ delivery: { retry: { schedule: ["1s", "5s", "30s"] } } }],
      },
    });
  });

  test.each([
    [
      "parameter-missing",
      "spec.verification.parameters.topicArn: Amazon SNS needs the parameter topicArn (ARN of the topic",
    ],
    ["parameter-value", "spec.verification.parameters.mode: must be one of advanced, simple ("],
    ["credential-missing", "spec.secretRefs: Plaid needs a key with use ApiCredential (name the Secret that holds "],
    ["secret-refs-missing", "spec.secretRefs: GitHub needs a key with use Signing (name the Secret that holds "],
  ])("says what a provider lacks, and where it is to be found: %s", async (name, line) => {
    const file = join(REFUSED, `${name}.yaml`);
    const { code, stderr } = await run("-f", file);
    expect(code).toBe(1);
    expect(stderr).toContain(`${file}: WebhookRoute shop/${name}: ${line}`);
  });

  test("says with --effective that the clock is left out where a provider's document does not look at it", async () => {
    const { stdout } = await run("-f", join(VALID, "provider-without-secret.yaml"), "--effective");
    expect(stdout).toContain("# verification: without a tolerance the sender's time is not held against the clock\n");
    expect(parse(stdout).spec.verification).not.toHaveProperty("tolerance");
    const { stdout: other } = await run("-f", join(VALID, "minimal.yaml"), "--effective");
    expect(other).not.toContain("held against the clock");
  });

  test("reads a directory and finds routes that want the same host and path", async () => {
    const route = (name: string) => `apiVersion: davit.dev/v1alpha1
kind: WebhookRoute
metadata: { name: ${name} }
spec:
  exposure: { host: hooks.example.com, path: /a }
  verification: { provider: github }
  secretRefs: [{ name: github, key: secret }]
  destinations: [{ name: a, serviceRef: { name: a, port: 80 } }]
`;
    await writeFile(join(directory, "b.yml"), route("b"));
    await writeFile(join(directory, "a.yaml"), route("a"));
    await writeFile(join(directory, "notes.txt"), "no manifest");
    const { code, stderr } = await run("-f", directory);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `${join(directory, "b.yml")}: WebhookRoute default/b: spec.exposure: hooks.example.com/a is also wanted by default/a (choose another path)\n`,
    );
  });

  test("demands manifests", async () => {
    await expect(run("--effective")).rejects.toThrow(UsageError);
    await expect(run("--what")).rejects.toThrow(UsageError);
  });

  test("names a path that is not there, or a directory without manifests", async () => {
    await expect(run("-f", "no/such/file.yaml")).rejects.toThrow("-f no/such/file.yaml: no such file or directory");
    await expect(run("-f", directory)).rejects.toThrow("holds no .yaml, .yml or .json file");
  });
});
