import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clientOf, failsWith } from "../../src/kube/conformance/fixtures.ts";
import { CONFIG_MAPS } from "../../src/kube/core-types.ts";
import { inClusterAuth } from "../../src/kube/in-cluster.ts";
import { kubeconfigAuth } from "../../src/kube/kubeconfig.ts";
import { sharedCluster } from "../support/cluster.ts";

const cluster = sharedCluster();
let dir: string;
let namespace: string;
let token: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "davit-auth-"));
  namespace = await cluster.namespace("auth");
  token = await cluster.tokenFor(namespace, "default");
});
afterAll(() => rmSync(dir, { recursive: true }));

function write(name: string, text: string): string {
  const file = join(dir, name);
  writeFileSync(file, text);
  return file;
}
const filesAuth = (tokenFile: string, caFile: string) =>
  inClusterAuth({ server: cluster.url, tokenFile, caFile, namespaceFile: write("namespace", namespace) });
const asks = (auth: Awaited<ReturnType<typeof inClusterAuth>>) => clientOf(auth).resource(CONFIG_MAPS).list(namespace);

describe("the credentials of a pod", () => {
  test("make it its service account, and a refusal says which", async () => {
    const call = asks(await filesAuth(write("token", token), cluster.caFile));
    await failsWith(call, "Forbidden");
    await expect(call).rejects.toThrow(`--as system:serviceaccount:${namespace}:default`);
  });

  test("are taken from the file again when the server refuses them", async () => {
    const tokenFile = write("token", `${token.slice(0, -4)}AAAA`);
    const auth = await filesAuth(tokenFile, cluster.caFile);
    const client = clientOf(auth).resource(CONFIG_MAPS);
    await failsWith(client.list(namespace), "Unauthorized");
    write("token", token);
    await expect(client.list(namespace)).rejects.toMatchObject({ code: "Forbidden" });
  });

  test("with a CA that did not sign the server's certificate are a Certificate error, until the file has the right one", async () => {
    const other = write("ca.crt", OTHER_CA);
    const client = clientOf(await filesAuth(write("token", token), other)).resource(CONFIG_MAPS);
    await expect(client.list(namespace)).rejects.toMatchObject({ code: "Certificate" });
    write("ca.crt", cluster.ca);
    await expect(client.list(namespace)).rejects.toMatchObject({ code: "Forbidden" });
  });
});

describe("a kubeconfig with a credential plugin", () => {
  const config = (exec: object) =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "c",
      clusters: [
        {
          name: "c",
          cluster: { server: cluster.url, "certificate-authority-data": Buffer.from(cluster.ca).toString("base64") },
        },
      ],
      users: [{ name: "u", user: { exec: { apiVersion: "client.authentication.k8s.io/v1", ...exec } } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    });

  test("uses the token that the plugin prints", async () => {
    const printed = { apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status: { token } };
    const file = write("good", config({ command: "echo", args: [JSON.stringify(printed)] }));
    await expect(asks(await kubeconfigAuth({ file }))).rejects.toMatchObject({ code: "Forbidden" });
  });

  test.each([
    ["that is not installed", { command: "no-such-plugin" }],
    ["that fails", { command: "sh", args: ["-c", "echo hunter2 >&2; exit 3"] }],
    ["that prints no credential", { command: "echo", args: ["hunter2"] }],
  ])("%s is named, and nothing of what it printed is repeated", async (_what, exec) => {
    const auth = await kubeconfigAuth({ file: write("bad", config(exec)) });
    const failure = await asks(auth).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "CredentialPluginFailed", message: expect.stringContaining(exec.command) });
    expect(failure).not.toHaveProperty("cause");
    expect(String(failure)).not.toContain("hunter2");
  });
});

/** Some CA, self-signed, of nobody. */
const OTHER_CA = `-----BEGIN CERTIFICATE-----
MIIBdjCCAR2gAwIBAgIUcXX40X+X4gM+Mmp928TfjAeF3tgwCgYIKoZIzj0EAwIw
ETEPMA0GA1UEAwwGbm9ib2R5MB4XDTI2MTEzMDE2MTMyOVoXDTM2MTEyNzE2MTMy
OVowETEPMA0GA1UEAwwGbm9ib2R5MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
mlWewn7SMdpRfEqVCA09sRmAboJ3GEU9WrFLSfkzUyqDrYoO71/5WQQFo4yqfokm
5sulHclhXCBnMyAKsqGF0aNTMFEwHQYDVR0OBBYEFAswTwwzD3vog//c5oJz3uvR
oaD2MB8GA1UdIwQYMBaAFAswTwwzD3vog//c5oJz3uvRoaD2MA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgX+qTRqzaHXklhey8iHfclGepXtve75sA
+j2onnT68lICIEgDdlJdz5Gb2q++g3Ac47ZFgrDCoo2LDwrwrTE5oSju
-----END CERTIFICATE-----
`;
