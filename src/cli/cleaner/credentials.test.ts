import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { createS3Store } from "../../cleanup/store/s3/s3-store.ts";
import { mountedCredentials, rotatingCredentials, secretCredentials } from "./credentials.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "davit-credentials-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const write = (file: string, text: string) => writeFileSync(join(directory, file), text);

/** Brings a version of a Secret as a kubelet does: into a directory of its own, then by turning one link. */
function bring(version: string, keys: Readonly<Record<string, string>>): void {
  mkdirSync(join(directory, version));
  for (const [key, value] of Object.entries(keys)) write(join(version, key), value);
  symlinkSync(version, join(directory, "..data_tmp"));
  renameSync(join(directory, "..data_tmp"), join(directory, "..data"));
}

test("the files of a mounted Secret are credentials, as they are when they are read", () => {
  write("accessKeyId", "key\n");
  write("secretAccessKey", "secret\r\n");
  expect(mountedCredentials(directory)).toEqual({ accessKeyId: "key", secretAccessKey: "secret" });
  write("secretAccessKey", " other ");
  write("sessionToken", "token");
  expect(mountedCredentials(directory)).toEqual({
    accessKeyId: "key",
    secretAccessKey: " other ",
    sessionToken: "token",
  });
});

test.each(["accessKeyId", "secretAccessKey"])("a Secret without %s is told by the name of the key alone", (file) => {
  write("accessKeyId", "key");
  write("secretAccessKey", "secret");
  write(file, "\n");
  const failure = expect.objectContaining({ code: "InvalidCredentials", retryable: true });
  expect(() => mountedCredentials(directory)).toThrow(failure as Error);
  expect(() => mountedCredentials(directory)).toThrow(new RegExp(`has no ${file}`));
});

test("keys are read of one version of the Secret, whatever the links of single files say", () => {
  bring("..1", { accessKeyId: "key-1", secretAccessKey: "secret-1" });
  // As if the kubelet had turned its link after the first of two had been read.
  symlinkSync(join("..1", "accessKeyId"), join(directory, "accessKeyId"));
  symlinkSync(join("..data", "secretAccessKey"), join(directory, "secretAccessKey"));
  bring("..2", { accessKeyId: "key-2", secretAccessKey: "secret-2" });
  expect(mountedCredentials(directory)).toEqual({ accessKeyId: "key-2", secretAccessKey: "secret-2" });
});

test("values of a Secret in manifests are credentials by the same rules", () => {
  const secret = new Map([["accessKeyId", "key\n"]]);
  expect(() => secretCredentials((key) => secret.get(key))).toThrow(/has no secretAccessKey/);
  secret.set("secretAccessKey", "secret\n");
  expect(secretCredentials((key) => secret.get(key))).toEqual({ accessKeyId: "key", secretAccessKey: "secret" });
});

/** A store that only hears who asks. */
async function listener(): Promise<{ readonly endpoint: string; readonly keys: string[] }> {
  const keys: string[] = [];
  const server: Server = createServer((request, response) => {
    keys.push(/Credential=([^/]+)\//.exec(request.headers.authorization ?? "")?.[1] ?? "");
    response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, keys };
}

/** One store, asked again and again, as by one run. */
function asking(endpoint: string, rereadMs: number) {
  const s3 = { endpoint, region: "us-east-1", bucket: "bucket", forcePathStyle: true, checksum: "Auto" } as const;
  const { store } = createS3Store({ s3, credentials: rotatingCredentials(directory, rereadMs) });
  onTestFinished(() => store.close());
  return () => store.bucketState(new AbortController().signal);
}

test("a Secret that is changed in the middle of a run is used by it", async () => {
  const { endpoint, keys } = await listener();
  bring("..1", { accessKeyId: "key-1", secretAccessKey: "secret-1" });
  const ask = asking(endpoint, -1);
  await expect(ask()).rejects.toMatchObject({ code: "NoSuchKey" });
  bring("..2", { accessKeyId: "key-2", secretAccessKey: "secret-2" });
  await expect(ask()).rejects.toMatchObject({ code: "NoSuchKey" });
  expect(new Set(keys)).toEqual(new Set(["key-1", "key-2"]));
  expect(keys.at(-1)).toBe("key-2");
});

test("the files are not read for every call", async () => {
  const { endpoint, keys } = await listener();
  bring("..1", { accessKeyId: "key-1", secretAccessKey: "secret-1" });
  const ask = asking(endpoint, 60_000);
  await expect(ask()).rejects.toMatchObject({ code: "NoSuchKey" });
  bring("..2", { accessKeyId: "key-2", secretAccessKey: "secret-2" });
  await expect(ask()).rejects.toMatchObject({ code: "NoSuchKey" });
  expect(new Set(keys)).toEqual(new Set(["key-1"]));
});

test("a Secret that lost a key ends the call by its name, and may come back", async () => {
  const { endpoint, keys } = await listener();
  const ask = asking(endpoint, -1);
  await expect(ask()).rejects.toMatchObject({ code: "InvalidCredentials", retryable: true });
  await expect(ask()).rejects.toThrow(/has no accessKeyId/);
  expect(keys).toEqual([]);
  bring("..1", { accessKeyId: "key-1", secretAccessKey: "secret-1" });
  await expect(ask()).rejects.toMatchObject({ code: "NoSuchKey" });
});
