import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LiveRoutes } from "./live-routes.ts";
import type { Rings } from "./rings.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "davit-live-routes-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A route that is to be purged when it goes. */
function route(name: string, path: string) {
  return {
    apiVersion: "davit.dev/v1alpha1",
    kind: "WebhookRoute",
    metadata: { name },
    spec: {
      exposure: { host: "hooks.example.com", path },
      verification: { none: {} },
      destinations: [{ name: "own", serviceRef: { name: "own", port: 80 } }],
      deletionPolicy: "Purge",
    },
  };
}

/** Looks at these manifests once, as a new process over the same data. @returns which removed routes are shelved, with their policy */
async function look(...routes: readonly ReturnType<typeof route>[]): Promise<Readonly<Record<string, unknown>>> {
  const file = join(dir, "manifests.yaml");
  writeFileSync(file, routes.map((one) => JSON.stringify(one)).join("\n---\n"));
  let shelved: Rings["removed"] = new Map();
  const live = new LiveRoutes({
    paths: [file],
    dir,
    instance: "default",
    services: new Map(),
    claimHoldMs: 3_600_000,
    serve: () => Promise.resolve(),
    shelve: (_, removed) => {
      shelved = removed;
      return Promise.resolve({ active: new Set(), byRoute: new Map(), lines: [] });
    },
    say: () => undefined,
  });
  await live.publish(await live.compile());
  await live.stop();
  return Object.fromEntries([...shelved].map(([key, { deletionPolicy = "Retain" }]) => [key, deletionPolicy]));
}

describe("LiveRoutes", () => {
  it("has the events of a deleted route purged as it asks, and keeps those of one that only lost its place", async () => {
    await look(route("owner", "/x"), route("mover", "/mover"));
    expect(await look(route("owner", "/x"), route("mover", "/x"))).toEqual({});
    const neighbour = route("neighbour", "/mover");
    expect(await look(route("owner", "/x"), route("mover", "/x"), neighbour)).toEqual({ "default/mover": "Retain" });
    expect(await look(route("mover", "/x"), neighbour)).toMatchObject({ "default/owner": "Purge" });
  });
});
