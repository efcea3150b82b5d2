import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { RouteEntry } from "../../../src/routes/entry.ts";
import { type Dev, endDev, Workspace } from "../dev-process.ts";
import { postEvent } from "../operator/senders.ts";
import { Receiver } from "../roles/receiver.ts";
import { type Driver, HOST, type Manifest } from "./driver.ts";

/** A `davit dev` over one file with all manifests, saved at every change. */
export class DevDriver implements Driver {
  readonly instance = "default";
  readonly namespaces = ["mine", "theirs"] as const;
  readonly receiver = new Receiver();
  readonly #workspace = new Workspace();
  readonly #args: readonly string[];
  readonly #manifests = new Map<string, Manifest>();
  #dev: Dev | undefined;

  /** @param claimHold as for `--claim-hold` */
  constructor(claimHold: string) {
    this.#args = ["--claim-hold", claimHold];
  }

  async start(): Promise<this> {
    await this.receiver.start();
    await this.#save();
    this.#dev = await this.#workspace.dev({ args: this.#args });
    return this;
  }

  /** Ends it, and starts it again over the same data. @param change of the manifests meanwhile */
  async restart(change: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    if (this.#dev !== undefined) await endDev(this.#dev);
    await change();
    this.#dev = await this.#workspace.dev({ args: this.#args });
  }

  async stop(): Promise<void> {
    await this.#workspace.remove();
    this.receiver.stop();
  }

  /** All that it has written to stderr since it was started. */
  stderr(): string {
    return this.#dev?.program.stderr() ?? "";
  }

  apply(manifest: Manifest): Promise<void> {
    const { kind, metadata } = manifest;
    this.#manifests.set(idOf(kind, metadata.namespace, metadata.name), manifest);
    return this.#save();
  }

  remove(kind: Manifest["kind"], namespace: string, name: string): Promise<void> {
    this.#manifests.delete(idOf(kind, namespace, name));
    return this.#save();
  }

  async post(path: string, key?: string) {
    return [await postEvent({ url: this.#dev?.gateway ?? "", host: HOST, path, key })];
  }

  keys(namespace: string, name: string): Promise<readonly string[]> {
    const text = readFileSync(join(this.#workspace.data, "rings.json"), "utf8");
    const { entries } = JSON.parse(text) as { readonly entries: readonly RouteEntry[] };
    const keys = entries.find((entry) => entry.namespace === namespace && entry.name === name)?.keys ?? [];
    return Promise.resolve(keys.map(({ state, value }) => `${state} ${Buffer.from(value, "base64").toString()}`));
  }

  conflict(namespace: string, name: string): Promise<string> {
    const { conflicts = [] } = this.#workspace.state();
    const mine = conflicts.find((one) => one.namespace === namespace && one.name === name);
    return Promise.resolve(mine?.message ?? "");
  }

  #save(): Promise<void> {
    this.#workspace.write([...this.#manifests.values()].map((manifest) => JSON.stringify(manifest)).join("\n---\n"));
    return Promise.resolve();
  }
}

function idOf(kind: string, namespace: string, name: string): string {
  return `${kind} ${namespace}/${name}`;
}
