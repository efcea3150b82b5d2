import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { DestinationNotices, type NoticeTargets } from "../../src/cli/controller/destination-notices.ts";
import { configSchema } from "../../src/config/schema.ts";
import { destinationPolicy, newEvent, settlement } from "../../src/custody/conformance/fixtures.ts";
import type { GateOutcome } from "../../src/custody/gate.ts";
import type { TakenCopy } from "../../src/custody/port.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { smtpMailer, type SmtpSettings } from "../../src/delivery/notifications/mail.ts";
import type { Happening } from "../../src/kube/event-series.ts";
import { silentLogger } from "../../src/observability/logger.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { type MailServer, type MailServerOptions, startMailServer } from "../support/mail-server.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

const CREDENTIALS = { user: "davit", password: "a password of a test" };
const SCOPE = { instance: "default", namespace: "shop" };
const MAIL = { to: "ops@example.com", subject: "s", text: "t\n", messageId: "m" };

let dir: string;
let server: MailServer;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "davit-mail-"));
});
afterEach(async () => {
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** Settings for a server that is started with these options. */
async function smtp(options: MailServerOptions, tls: SmtpSettings["tls"]): Promise<SmtpSettings> {
  server = await startMailServer(options);
  const file = (name: string, text: string) => {
    writeFileSync(join(dir, name), text);
    return join(dir, name);
  };
  return {
    host: "localhost",
    port: server.port,
    tls,
    caFile: file("ca.pem", server.ca),
    from: "davit@example.com",
    ...(options.credentials && {
      userFile: file("user", `${options.credentials.user}\n`),
      passwordFile: file("password", `${options.credentials.password}\n`),
    }),
  };
}

describe("a mail", () => {
  test.each([
    ["StartTLS", { credentials: CREDENTIALS }, true],
    ["Implicit", { credentials: CREDENTIALS, implicit: true }, true],
    ["None", { plain: true }, false],
  ] as const)("is handed over with %s", async (tls, options, wasEncrypted) => {
    const mailer = smtpMailer(await smtp(options, tls));
    await mailer.send({ ...MAIL, subject: "destination shop/acme is disabled" });
    expect(server.mails).toHaveLength(1);
    const [mail] = server.mails;
    expect(mail).toMatchObject({ from: "davit@example.com", to: ["ops@example.com"], wasEncrypted });
    expect(mail?.user).toBe("credentials" in options ? "davit" : undefined);
    expect(mail?.text).toContain("Subject: destination shop/acme is disabled\n");
    expect(mail?.text).toContain("Message-ID: <m@example.com>\n");
    expect(mail?.text).toContain("Auto-Submitted: auto-generated\n");
  });

  test("is not handed over in the clear to a server that does not offer STARTTLS", async () => {
    const settings = await smtp({ plain: true }, "StartTLS");
    await expect(smtpMailer(settings).send(MAIL)).rejects.toMatchObject({
      code: expect.stringMatching(/^ETLS/) as string,
    });
    expect(server.mails).toEqual([]);
  });

  test("is not handed over to a server of another authority", async () => {
    const { caFile: _, ...settings } = await smtp({}, "StartTLS");
    await expect(smtpMailer(settings).send(MAIL)).rejects.toMatchObject({
      code: expect.stringMatching(/^E/) as string,
    });
    expect(server.mails).toEqual([]);
  });

  test("says by codes why it was not taken, never in the server's words", async () => {
    const settings = await smtp({ credentials: CREDENTIALS }, "StartTLS");
    server.refuse(550);
    const refused = await smtpMailer(settings)
      .send(MAIL)
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "EENVELOPE_550",
      message: expect.not.stringContaining("own words") as string,
    });
    writeFileSync(settings.passwordFile ?? "", "another");
    await expect(smtpMailer(settings).send(MAIL)).rejects.toMatchObject({ code: "EAUTH_535" });
    rmSync(settings.passwordFile ?? "");
    await expect(smtpMailer(settings).send(MAIL)).rejects.toMatchObject({ code: "credentials_unreadable" });
  });

  test("is given up after a while with a server that talks and talks, and its connection is closed", async () => {
    let isClosed = false;
    const talker = createServer((socket) => {
      const talk = setInterval(() => socket.write("220-wait\r\n"), 20);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        clearInterval(talk);
        isClosed = true;
      });
    });
    await new Promise<void>((resolve) => talker.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void talker.close());
    const { port } = talker.address() as AddressInfo;
    const settings = { host: "127.0.0.1", port, tls: "None", from: "davit@example.com" } as const;
    await expect(smtpMailer(settings, 300).send(MAIL)).rejects.toMatchObject({ code: "timeout" });
    await expect.poll(() => isClosed).toBe(true);
  });

  test("takes no second recipient and no header from an address or a subject", async () => {
    const mailer = smtpMailer(await smtp({ plain: true }, "None"));
    for (const to of ["a@example.com,b@example.com", "a@example.com\r\nBcc: b@example.com", "A <a@example.com>"]) {
      await expect(mailer.send({ ...MAIL, to })).rejects.toMatchObject({ code: "invalid_address" });
    }
    await mailer.send({ ...MAIL, subject: "x\r\nBcc: b@example.com\r\n\r\nbody" });
    expect(server.mails).toHaveLength(1);
    expect(server.mails[0]?.to).toEqual(["ops@example.com"]);
    expect(server.mails[0]?.text).not.toMatch(/^Bcc:/m);
  });
});

describe("the leader tells of destinations", () => {
  let redis: TestRedis;
  let store: RedisStore;
  let leading: AbortController;
  let led: Promise<void> | undefined;
  const recorded: { readonly object: string; readonly happening: Happening }[] = [];

  beforeEach(async () => {
    redis = await startRedis();
    store = new RedisStore({ url: redis.url });
    await store.start();
    leading = new AbortController();
    led = undefined;
    recorded.length = 0;
  });
  afterEach(async () => {
    leading.abort();
    await led;
    store.close();
    await redis.stop();
  });

  const emails = new Map([
    ["~acme", "ops@acme.example.com"],
    ["~other", "ops@acme.example.com"],
  ]);
  const targets: NoticeTargets = {
    namespaces: () => ["shop"],
    find: (namespace, destination) => ({
      metadata: { name: destination.slice(1), namespace, uid: "u", resourceVersion: "1" },
    }),
    subject: (namespace, destination) => ({
      namespace,
      name: destination.slice(1),
      id: destination.slice(1),
      email: emails.get(destination),
    }),
    wantsMail: () => true,
  };

  async function lead(settings: SmtpSettings): Promise<void> {
    const config = configSchema.parse({ redis: { urlFile: "/unused" }, controller: { smtp: settings } });
    const notices = new DestinationNotices({
      config,
      store,
      events: { record: (object, happening) => void recorded.push({ object: object.metadata.name, happening }) },
      targets,
      metrics: createMetrics(),
      logger: silentLogger,
    });
    led = notices.lead(leading.signal);
  }

  /** One attempt for a destination, which ends like this. */
  async function attempt(id: string, effect: Omit<GateOutcome, "generation">): Promise<void> {
    const policy = destinationPolicy({ destination: id, gate: { seq: 1, disableAfter: DISABLE_AFTER } });
    const policies = new Map([[id, policy]]);
    const outbox = store.outbox(SCOPE, { policies: () => [] });
    await store.inbox(SCOPE).claim(newEvent({ destinations: [{ destination: id, limit: 16 }] }));
    const [copy] = (await outbox.turn({ settles: [], takes: [{ destination: id, want: 1 }], policies })).copies;
    const taken = copy as TakenCopy;
    const gate = { ...effect, generation: taken.gateGeneration ?? 0 } as GateOutcome;
    const record = { attempt: taken.attempt, at: taken.now, action: "dead", status: 503 } as const;
    await outbox.turn({ settles: [settlement(taken, "dead", { record, gate })], takes: [], policies });
  }
  const DISABLE_AFTER = { consecutiveFailures: 12, failingForMs: 1 };

  const known = async () => {
    for (const reader of ["events", "email"] as const) await store.notices(SCOPE).take(reader, 1, 0);
  };
  const until = async (met: () => boolean, ms = 20_000): Promise<boolean> => {
    for (const end = performance.now() + ms; performance.now() < end; await sleep(20)) if (met()) return true;
    return false;
  };

  test("by Events, and by one mail with all that there is to tell, in its order and once", async () => {
    await known();
    for (let n = 0; n < 12; n++) {
      await attempt("~acme", { type: "rejected" });
      await sleep(2);
    }
    await store.ledger(SCOPE).enable("~acme");
    await lead(await smtp({ credentials: CREDENTIALS }, "StartTLS"));
    expect(await until(() => server.mails.length === 1 && recorded.length === 4)).toBe(true);
    expect(recorded.map(({ happening: { type, reason } }) => `${type} ${reason}`)).toEqual([
      "Warning DestinationFailing",
      "Warning DestinationHalfWayToDisabled",
      "Warning DestinationDisabled",
      "Normal DestinationRecovered",
    ]);
    expect(recorded[2]?.happening.note).toContain("davit destinations enable acme -n shop");
    const [{ text } = { text: "" }] = server.mails;
    const states = ["is failing", "is half-way to being disabled", "is disabled", "has recovered"];
    const places = states.map((state) => text.indexOf(`destination shop/acme ${state}`));
    expect(Math.min(...places)).toBeGreaterThan(0);
    expect(places.toSorted((a, b) => a - b)).toEqual(places);
    expect(text).toContain("Subject: [davit] 4 notices about destinations in shop\n");
    await sleep(6_000);
    expect(server.mails).toHaveLength(1);
  });

  test("by a mail that says why, what was seen last, what waits and how to enable it, once the server takes it", async () => {
    await known();
    const settings = await smtp({}, "StartTLS");
    server.refuse(451);
    await lead(settings);
    await attempt("~acme", { type: "gone" });
    await sleep(6_000);
    expect(server.mails).toEqual([]);
    server.refuse(undefined);
    expect(await until(() => server.mails.length === 1)).toBe(true);
    const [mail] = server.mails;
    expect(mail?.to).toEqual(["ops@acme.example.com"]);
    expect(mail?.text).toContain("Subject: [davit] destination shop/acme is disabled\n");
    expect(mail?.text).toContain("it answered 410");
    expect(mail?.text).toContain("last answer: status 503");
    expect(mail?.text).toContain("0 events wait for it");
    expect(mail?.text).toContain("  davit destinations enable acme -n shop\n");
    expect(mail?.text).toMatch(/^Message-ID: <notice-[0-9a-f]{16}-\d+@example\.com>$/m);
  });
});
