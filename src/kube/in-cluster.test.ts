import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ManualTimers } from "../lib/testing.ts";
import { inClusterAuth, runsInCluster } from "./in-cluster.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "davit-auth-"));
  write("token", "one\n");
  write("ca.crt", "CA");
  write("namespace", "shop\n");
});
afterEach(() => rmSync(dir, { recursive: true }));
const file = (name: string) => join(dir, name);
const write = (name: string, text: string) => writeFileSync(file(name), text);
const options = (timers = new ManualTimers()) => ({
  env: { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" },
  tokenFile: file("token"),
  caFile: file("ca.crt"),
  namespaceFile: file("namespace"),
  timers,
});
const jwt = (payload: object) => `x.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.y`;

describe("credentials of a pod", () => {
  test("come from the files and the environment", async () => {
    const auth = await inClusterAuth(options());
    expect(auth).toMatchObject({ server: "https://10.0.0.1:443", namespace: "shop" });
    expect(await auth.credentials()).toEqual({
      headers: { authorization: "Bearer one" },
      tls: { ca: Buffer.from("CA") },
    });
  });

  test("a server that is given wins; an IPv6 host gets its brackets", async () => {
    expect((await inClusterAuth({ ...options(), server: "https://proxy:8443/" })).server).toBe("https://proxy:8443");
    const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" };
    expect((await inClusterAuth({ ...options(), env })).server).toBe("https://[fd00::1]:443");
  });

  test("are read anew after a minute, not before", async () => {
    const timers = new ManualTimers();
    const auth = await inClusterAuth(options(timers));
    write("token", "two");
    timers.stall(59_999);
    expect((await auth.credentials()).headers["authorization"]).toBe("Bearer one");
    timers.stall(1);
    expect((await auth.credentials()).headers["authorization"]).toBe("Bearer two");
  });

  test("are read anew at once when the server refused them", async () => {
    const auth = await inClusterAuth(options());
    write("token", "two");
    auth.refresh();
    expect((await auth.credentials()).headers["authorization"]).toBe("Bearer two");
  });

  test("stay as they were while a file is missing, unless they were refused", async () => {
    const timers = new ManualTimers();
    const auth = await inClusterAuth(options(timers));
    rmSync(file("token"));
    timers.stall(60_000);
    expect((await auth.credentials()).headers["authorization"]).toBe("Bearer one");
    auth.refresh();
    await expect(auth.credentials()).rejects.toMatchObject({ code: "CredentialsUnreadable" });
  });

  test("keep the same TLS settings as long as the CA's bytes are the same", async () => {
    const auth = await inClusterAuth(options());
    const before = (await auth.credentials()).tls;
    auth.refresh();
    expect((await auth.credentials()).tls).toBe(before);
    write("ca.crt", "another");
    auth.refresh();
    expect((await auth.credentials()).tls).toEqual({ ca: Buffer.from("another") });
  });

  test("tell who we are, if the token does", async () => {
    write("token", jwt({ sub: "system:serviceaccount:shop:gateway" }));
    expect((await inClusterAuth(options())).user?.()).toBe("system:serviceaccount:shop:gateway");
    write("token", "opaque");
    expect((await inClusterAuth(options())).user?.()).toBeUndefined();
  });

  test("outside a cluster, or without files, it says what to do", async () => {
    expect(runsInCluster({})).toBe(false);
    await expect(inClusterAuth({ ...options(), env: {} })).rejects.toMatchObject({ code: "NotInCluster" });
    rmSync(file("ca.crt"));
    await expect(inClusterAuth(options())).rejects.toThrow(/cannot read .*ca\.crt \(ENOENT\): is automount/);
    write("ca.crt", "CA");
    write("token", "  \n");
    await expect(inClusterAuth(options())).rejects.toThrow(/holds no token/);
  });
});
