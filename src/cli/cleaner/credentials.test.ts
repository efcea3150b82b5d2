import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { mountedCredentials } from "./credentials.ts";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "davit-credentials-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

const write = (file: string, text: string) => writeFileSync(join(directory, file), text);

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
