import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CommandError, UsageError } from "../../src/cli/command.ts";
import { command } from "../../src/cli/destinations.ts";
import {
  destinationPolicy,
  newEvent,
  ROUTE,
  settle,
  settlement,
  take,
} from "../../src/custody/conformance/fixtures.ts";
import { RedisStore } from "../../src/custody/redis/store.ts";
import { startRedis, type TestRedis } from "../support/redis.ts";

describe("davit destinations", () => {
  let redis: TestRedis;
  let store: RedisStore;
  let namespace = "";
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());
  beforeEach(async () => {
    namespace = `ns-${randomUUID()}`;
    store = new RedisStore({ url: redis.url });
    await store.start();
  });
  afterEach(() => store.close());

  const scope = () => ({ instance: "default", namespace });
  const run = async (...args: string[]) => {
    let [stdout, stderr] = ["", ""];
    const io = {
      stdout: { write: (text: string) => void (stdout += text) },
      stderr: { write: (text: string) => void (stderr += text) },
    };
    const code = await command.run([...args, "--redis-url", redis.url, "-n", namespace], io);
    return { code, stdout, stderr };
  };
  const accept = (...destinations: readonly string[]) =>
    store
      .inbox(scope())
      .claim(newEvent({ destinations: destinations.map((destination) => ({ destination, limit: 1 })) }));
  /** Has a destination answer 410. */
  const disable = async (destination: string) => {
    await accept(destination);
    const outbox = store.outbox(scope(), { policies: () => [] });
    const policy = destinationPolicy({ destination, gate: { seq: 1 } });
    const copies = await take(outbox, policy);
    const gone = copies.map((copy) =>
      settlement(copy, "dead", { gate: { type: "gone", generation: copy.gateGeneration ?? 0 } }),
    );
    await settle(outbox, gone, policy);
  };
  const stateOf = async (destination: string) => (await store.ledger(scope()).gate(destination)).state;

  test("lists inline ones and WebhookDestinations, with state and backlog", async () => {
    await accept("~acme", `${ROUTE}/orders`);
    await disable("~gone");
    const { code, stdout } = await run();
    expect(code).toBe(0);
    expect(stdout.split("\n").map((line) => line.split(/ {2,}/).slice(0, 7))).toMatchObject([
      ["DESTINATION", "NAMESPACE", "STATE", "WAITING", "DELAYED", "ACTIVE", "DEAD"],
      [`${ROUTE}/orders`, namespace, "-", "1", "0", "0", "0"],
      ["~acme", namespace, "Closed", "1", "0", "0", "0"],
      ["~gone", namespace, "Disabled", "0", "0", "0", "1"],
      [""],
    ]);
    const only = await run("list", "--state", "disabled", "-o", "json");
    expect(JSON.parse(only.stdout)).toMatchObject([{ namespace, destination: "~gone", gate: "Disabled", dead: 1 }]);
  });

  test("shows one with its gate, copies and hours", async () => {
    await disable("~gone");
    const shown = await run("get", "gone");
    expect(shown.stdout).toMatch(/^destination ~gone, namespace ns-\S+\ngate: Disabled \(Gone\) since 2\d{3}-/);
    expect(shown.stdout).toContain("copies: 0 ready, 0 replayed, 0 delayed, 0 under way, 1 dead");
    expect(shown.stdout).toMatch(/HOUR \(UTC\) +DELIVERED +FAILED ATTEMPTS\n\S+ \S+ +0 +1\n/);
    expect(JSON.parse((await run("get", "~gone", "-o", "json")).stdout)).toMatchObject({
      destination: "~gone",
      copies: { dead: 1 },
      gate: { state: "Disabled" },
    });
  });

  test("enables one, several, or all that are disabled", async () => {
    for (const id of ["~a", "~b", "~c", "~d"]) await disable(id);
    expect((await run("enable", "a")).stdout).toBe("a is enabled: it was Disabled\n");
    expect((await run("enable", "a")).stdout).toBe("a is enabled: it was closed already; its failures are forgotten\n");
    const both = await run("enable", "a", "b");
    expect([both.stdout, both.stderr]).toEqual(["1 enabled\n", expect.stringContaining("done: 2 of 2")]);
    expect((await run("enable", "--all-disabled", "--dry-run")).stdout).toBe(
      "c would be enabled\nd would be enabled\nwould enable 2\n",
    );
    expect(await stateOf("~c")).toBe("Disabled");
    expect((await run("enable", "--all-disabled")).stdout).toBe("2 enabled\n");
    expect([await stateOf("~c"), await stateOf("~d")]).toEqual(["Closed", "Closed"]);
    expect((await run("enable", "--all-disabled")).stdout).toBe("0 enabled\n");
  });

  test("holds one for a while or until a time, unless it is disabled", async () => {
    await accept("~acme");
    const held = await run("hold", "acme", "--for", "10m");
    expect([held.code, held.stdout]).toEqual([0, expect.stringMatching(/^acme is held until 2\d{3}-/)]);
    expect(await stateOf("~acme")).toBe("Held");
    const until = new Date(Date.now() + 3_600_000).toISOString();
    await run("hold", "acme", "--until", until);
    expect((await store.ledger(scope()).gate("~acme")).until).toBe(Date.parse(until));
    await disable("~gone");
    const refused = await run("hold", "gone", "--for", "10m");
    expect([refused.code, refused.stdout, refused.stderr]).toEqual([1, "", expect.stringContaining("is disabled")]);
  });

  test("says what cannot be done, and does nothing then", async () => {
    await accept(`${ROUTE}/orders`, "~acme");
    const wrong: readonly (readonly [RegExp, ...string[]])[] = [
      [/name the destination to get/, "get"],
      [/unexpected argument "b"/, "get", "a", "b"],
      [/not both/, "enable", "acme", "--all-disabled"],
      [/--for: "soon" is not a duration/, "hold", "acme", "--for", "soon"],
      [/say how long/, "hold", "acme"],
      [/within the next 720h/, "hold", "acme", "--for", "721h"],
      [/within the next 720h/, "hold", "acme", "--until", "2001-01-01"],
      [/--state: "odd" is not known/, "--state", "odd"],
      [/"frob" is not known; there are list, get, enable, hold, test/, "frob"],
      [/only davit dev tells/, "test", "acme"],
    ];
    for (const [message, ...args] of wrong) {
      const failed = run(...args);
      await expect(failed).rejects.toThrow(message);
      await expect(failed).rejects.toBeInstanceOf(UsageError);
    }
    await expect(run("enable", "acme", "nobody")).rejects.toThrow("there is no destination nobody");
    const inline = run("hold", `${ROUTE}/orders`, "--for", "1m");
    await expect(inline).rejects.toThrow("has no gate");
    await expect(inline).rejects.toBeInstanceOf(CommandError);
    expect(await stateOf("~acme")).toBe("Closed");
  });
});
