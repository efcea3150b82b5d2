import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { readRings } from "../../src/cli/dev/rings.ts";
import { type Answer, post } from "../../src/cli/send/post.ts";
import { senderOf, signMessage } from "../../src/cli/send/request.ts";
import { secretsOf } from "../../src/cli/send/testing.ts";
import type { RouteEntry } from "../../src/routes/entry.ts";
import { presets } from "../../src/verification/presets/index.ts";
import type { Preset } from "../../src/verification/presets/preset.ts";
import { davit, type Dev, Workspace } from "../support/dev-process.ts";

const SHARED = [...presets.values()].filter(({ secrets }) => secrets.signing === "shared");
/** A destination's answers do not matter here. */
let target: Server;
let workspace: Workspace;
let dev: Dev;
let entries: ReadonlyMap<string, RouteEntry>;
const onData = () => ["--data-dir", workspace.data];

beforeAll(async () => {
  target = createServer((_request, response) => response.end());
  await new Promise<void>((resolve) => {
    target.listen(0, "127.0.0.1", resolve);
  });
  workspace = new Workspace();
  const { port } = target.address() as AddressInfo;
  const routes = [...SHARED.flatMap((preset) => manifestsOf(preset, port)), keylessNotion(port)];
  workspace.write(routes.map((one) => stringify(one)).join("---\n"));
  dev = await workspace.dev();
  entries = readRings(workspace.data).entries;
});
afterAll(async () => {
  await workspace.remove();
  target.close();
  target.closeAllConnections();
});

/** A route of a provider with its secrets. Notion and Asana hand theirs over: a route with a key takes none. */
function manifestsOf(preset: Preset, port: number): readonly object[] {
  const { name } = preset;
  const keys = secretsOf(preset).map((value, index) => [`key-${index}`, value] as const);
  const others = (preset.secrets.others ?? []).map((use) => ({ name, key: "key-0", use }));
  const signing = keys.map(([key], index) => ({
    name,
    key,
    ...(name === "box" && { keyId: ["primary", "secondary"][index] }),
  }));
  return [
    { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData: Object.fromEntries(keys) },
    {
      apiVersion: "davit.dev/v1alpha1",
      kind: "WebhookRoute",
      metadata: { name },
      spec: {
        exposure: { host: "hooks.example.com", path: `/${name}` },
        verification: { provider: name },
        secretRefs: [...signing, ...others.filter(({ use }) => use === "ApiCredential")],
        destinations: [{ name: "app", serviceRef: { name: "app", port } }],
      },
    },
  ];
}

/** A route that waits for its key. */
function keylessNotion(port: number): object {
  return {
    apiVersion: "davit.dev/v1alpha1",
    kind: "WebhookRoute",
    metadata: { name: "new-notion" },
    spec: {
      exposure: { host: "hooks.example.com", path: "/new-notion" },
      verification: { provider: "notion" },
      secretRefs: [{ name: "not-yet", key: "token" }],
      destinations: [{ name: "app", serviceRef: { name: "app", port } }],
    },
  };
}

function entryOf(name: string): RouteEntry {
  const entry = entries.get(`default/${name}`);
  if (entry === undefined) throw new Error(`${name} is not served: ${dev.program.stderr().slice(0, 2_000)}`);
  return entry;
}

/** As `davit send` does it; the clock is an argument, so that the same message can be sent again. */
function send(
  name: string,
  draft: { readonly id: string; readonly now: number; readonly badSignature?: boolean },
): Promise<Answer> {
  const entry = entryOf(name);
  const { path, ...message } = signMessage(senderOf(entry), entry.path, { idInBody: true, ...draft });
  return post(dev.gateway + path, { ...message, host: entry.host });
}

const idOf = ({ headers }: Answer) => headers["davit-event-id"];

describe("a message as the provider sends it", () => {
  it.each(SHARED)(
    "of $name is accepted, once for each id, and refused with another secret",
    async ({ name, ack, dedupe, statusOverrides }) => {
      const now = Date.now();
      const first = await send(name, { id: `${name}-1`, now });
      expect({ status: first.status, body: first.status < 300 ? "" : first.body }).toEqual({
        status: ack.status,
        body: "",
      });
      expect(idOf(first)).toMatch(/^[0-9A-Z]{26}$/);
      const refused = await send(name, { id: `${name}-2`, now, badSignature: true });
      expect(refused.status).toBe(statusOverrides.SignatureMismatch ?? 401);
      const again = await send(name, { id: `${name}-1`, now });
      const other = await send(name, { id: `${name}-3`, now });
      const isToldApart = dedupe.length > 0;
      expect([!isToldApart || idOf(again) === idOf(first), !isToldApart || idOf(other) !== idOf(first)]).toEqual([
        true,
        true,
      ]);
    },
  );
});

describe("davit send --provider", () => {
  const secretFile = () => {
    const file = join(workspace.dir, "secret");
    writeFileSync(file, secretsOf(SHARED[0] as Preset)[0] ?? "");
    return file;
  };
  const flags = (name: string) => [
    "--provider",
    name,
    "--url",
    `${dev.gateway}/${name}`,
    "--secret-file",
    secretFile(),
  ];

  it("signs the public URL, puts an id into a form, and tells a duplicate", async () => {
    const args = ["send", ...flags("twilio"), "--public-url", "https://hooks.example.com/twilio", "--id", "SM1"];
    expect(await davit(...args)).toMatchObject({ code: 0, stdout: expect.stringContaining("200") as string });
    expect(await davit("send", ...flags("twilio"), "--id", "SM2")).toMatchObject({ code: 1 });
    const bad = await davit(...args, "--bad-signature");
    expect(bad).toMatchObject({ code: 0, stdout: expect.stringContaining("401 SignatureMismatch") as string });
  });

  it.each(["discord", "aws-sns", "plaid"])(
    "says of %s that only the provider can sign, and what to do instead",
    async (name) => {
      const parameters = (presets.get(name)?.parameters ?? []).filter(({ required }) => required);
      const values: Record<string, string> = {
        topicArn: "arn:aws:sns:eu-central-1:123456789012:t",
        clientId: "5f0c2a3b4d5e6f7a8b9c0d1e",
      };
      const more = parameters.flatMap((parameter) => [
        "--parameter",
        `${parameter.name}=${values[parameter.name] ?? "x"}`,
      ]);
      const { code, stderr } = await davit("send", ...flags(name), ...more);
      expect(code).toBe(1);
      expect(stderr).toMatch(/only .* has, so nobody else can send as it: have .* send a test .*davit verify -i\n$/);
    },
  );
});

describe("davit trace", () => {
  it("finds an event by its provider's id, with its duplicates, in any route or in one", async () => {
    const now = Date.now();
    const first = await send("stripe", { id: "evt_traced", now });
    await send("stripe", { id: "evt_traced", now });
    const found = await davit("trace", "evt_traced", ...onData());
    expect(found.code).toBe(0);
    expect(found.stdout).toContain(`event ${String(idOf(first))}, route default/stripe`);
    expect(found.stdout).toContain("duplicates: 1");
    expect((await davit("trace", "evt_traced", "--route", "stripe", ...onData())).code).toBe(0);
    expect((await davit("trace", "evt_traced", "--route", "github", ...onData())).code).toBe(1);
  });

  it("finds a refused one by its provider's id, and says what it cannot know of one that was never seen", async () => {
    await send("github", { id: "delivery-refused", now: Date.now(), badSignature: true });
    await expect
      .poll(async () => (await davit("trace", "delivery-refused", ...onData())).stdout, { timeout: 20_000 })
      .toContain("refused with 401 SignatureMismatch by default/github");
    const never = await davit("trace", "never-sent", ...onData());
    expect(never).toMatchObject({ code: 1, stdout: expect.stringMatching(/^never-sent was never seen/) as string });
    expect(never.stdout).toContain("default/zoom: its provider sends no id");
  });
});

describe("davit verify --route", () => {
  it("checks with the keys and the public URL of a running davit dev", async () => {
    const entry = entryOf("square");
    const { headers, body } = signMessage(senderOf(entry), entry.path, { id: "sq-1", idInBody: true, now: Date.now() });
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const file = join(workspace.dir, "request");
    writeFileSync(file, `POST /square HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join("\r\n")}\r\n\r\n${body.toString()}`);
    const valid = await davit("verify", "--route", "square", "-i", file, ...onData());
    expect(valid).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("the id is sq-1, from json:/event_id") as string,
    });
    const elsewhere = await davit(
      "verify",
      "--route",
      "square",
      "-i",
      file,
      "--url",
      "http://10.0.0.1/square",
      ...onData(),
    );
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.stdout).not.toContain(headers["x-square-hmacsha256-signature"]);
  });
});

describe("davit handshakes", () => {
  it("tells who handed a secret over, and the secret itself only when asked", async () => {
    const token = "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl";
    const handOver = async (verification_token: string) => {
      const body = Buffer.from(JSON.stringify({ verification_token }));
      const headers = { "content-type": "application/json" };
      const answer = await post(`${dev.gateway}/new-notion`, { headers, body, host: "hooks.example.com" });
      expect(answer.status).toBe(200);
    };
    await handOver(token);
    const listed = await davit("handshakes", ...onData());
    expect(listed).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/default\/new-notion +verification-token +127/) as string,
    });
    expect(listed.stdout).toContain("none of this is authenticated");
    expect(listed.stdout).not.toContain(token);
    expect((await davit("handshakes", "-o", "json", ...onData())).stdout).not.toContain(token);
    const shown = await davit("handshakes", "--route", "new-notion", "--show-secret", ...onData());
    expect(shown.stdout).toContain(token);
    expect(shown.stdout).toContain("kubectl create secret generic");
    expect((await davit("handshakes", "--route", "github", ...onData())).stdout).toContain(
      "no provider handed a secret over",
    );
    expect(shown.stderr).toBe("");
    for (let n = 0; n < 11; n++) await handOver(`secret_other_${"x".repeat(30)}${n}`);
    const crowded = await davit("handshakes", "--show-secret", ...onData());
    expect(crowded.stderr).toContain("default/new-notion: 2 more were handed over");
    expect(crowded.stdout).toContain(token);
    expect(dev.program.stdout() + dev.program.stderr()).not.toContain(token);
  });
});
