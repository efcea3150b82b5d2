import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findAuth, kubeconfigAuth } from "./kubeconfig.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "davit-kubeconfig-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

function write(name: string, content: object | string): string {
  const file = join(dir, name);
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}
/** JSON is YAML. */
const config = (name: string, user: object = { token: `token-${name}` }, cluster: object = {}) => ({
  apiVersion: "v1",
  kind: "Config",
  "current-context": name,
  clusters: [{ name, cluster: { server: `https://${name}.example.com/`, ...cluster } }],
  users: [{ name, user }],
  contexts: [{ name, context: { cluster: name, user: name, namespace: `${name}-ns` } }],
});
const base64 = (text: string) => Buffer.from(text).toString("base64");

test("a token, a CA and a namespace come from the file", async () => {
  const cluster = { "certificate-authority-data": base64("CA"), "tls-server-name": "api.example.com" };
  const auth = await kubeconfigAuth({ file: write("a", config("one", undefined, cluster)) });
  expect(auth).toMatchObject({ server: "https://one.example.com", namespace: "one-ns" });
  expect(await auth.credentials()).toEqual({
    headers: { Authorization: "Bearer token-one" },
    tls: { ca: Buffer.from("CA"), servername: "api.example.com" },
  });
});

test("a client certificate and a password come as such", async () => {
  const user = { "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY") };
  const auth = await kubeconfigAuth({ file: write("a", config("one", user)) });
  expect((await auth.credentials()).tls).toEqual({ cert: Buffer.from("CERT"), key: Buffer.from("KEY") });
  const basic = await kubeconfigAuth({ file: write("b", config("two", { username: "u", password: "p" })) });
  expect((await basic.credentials()).headers).toEqual({ authorization: `Basic ${base64("u:p")}` });
});

test("of several files the first names the context, and all are looked through for another", async () => {
  const files = [write("a", config("one")), write("b", config("two"))].join(delimiter);
  const env = { KUBECONFIG: `${files}${delimiter}${join(dir, "missing")}` };
  expect((await kubeconfigAuth({ env })).server).toBe("https://one.example.com");
  expect((await kubeconfigAuth({ env, context: "two" })).server).toBe("https://two.example.com");
});

test("without a file it says where it looked", async () => {
  const failure = kubeconfigAuth({ env: { HOME: dir } });
  await expect(failure).rejects.toMatchObject({ code: "KubeconfigMissing" });
  await expect(failure).rejects.toThrow(join(dir, ".kube", "config"));
});

test("a file that cannot be parsed is named, and nothing of it is repeated", async () => {
  const file = write("a", "users: [ {token: hunter2\n  : : :");
  const failure = kubeconfigAuth({ file });
  await expect(failure).rejects.toMatchObject({ code: "KubeconfigInvalid" });
  await expect(failure).rejects.not.toHaveProperty("cause");
  await expect(failure).rejects.not.toThrow(/hunter2/);
  await expect(failure).rejects.toThrow(file);
});

test("an unknown context is answered with the known ones", async () => {
  const file = write("a", config("one"));
  await expect(kubeconfigAuth({ file, context: "none" })).rejects.toMatchObject({ code: "ContextUnknown" });
  await expect(kubeconfigAuth({ file, context: "none" })).rejects.toThrow(/has no context "none".*one of one/);
});

test.each([
  ["a user that is missing", { users: [] }, /names user "one", which it lacks/],
  ["a server that is no URL", { clusters: [{ name: "one", cluster: { server: "nowhere" } }] }, /server is no URL/],
  [
    "a proxy",
    { clusters: [{ name: "one", cluster: { server: "https://one", "proxy-url": "http://proxy" } }] },
    /proxy-url is not supported/,
  ],
])("%s is told", async (_what, change, words) => {
  const file = write("a", { ...config("one"), ...change });
  await expect(kubeconfigAuth({ file })).rejects.toThrow(words);
});

test("a pod's own credentials come after $KUBECONFIG and before the home directory", async () => {
  const env = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443", HOME: dir };
  await expect(findAuth({ env })).rejects.toMatchObject({ code: "CredentialsUnreadable" });
  const file = write("a", config("one"));
  expect((await findAuth({ env: { ...env, KUBECONFIG: file } })).server).toBe("https://one.example.com");
  expect((await findAuth({ env, file })).server).toBe("https://one.example.com");
});
