import {
  CustodyError,
  type ClaimResult,
  type CustodyErrorCode,
  type Inbox,
  type KeptHandshake,
  type NewEvent,
  type Rejection,
} from "../../src/custody/port.ts";

/**
 * An inbox that fails on command. Only for what a real store cannot be made to do at will; what claims really do is tested on Redis.
 * Without a fault it remembers marks like a store, so that duplicates can be seen.
 */
export class FaultInbox implements Inbox {
  readonly claimed: NewEvent[] = [];
  readonly rejections: Rejection[] = [];
  readonly kept: KeptHandshake[] = [];
  /** The next claims fail with this code, or never answer. */
  fault: CustodyErrorCode | "hang" | "bug" | undefined;
  /** Known deliveries are answered as revived instead of duplicate. */
  reviving = false;
  readonly #nonces = new Map<string, string>();
  readonly #marks = new Map<string, string>();

  async claim(event: NewEvent): Promise<ClaimResult> {
    await this.#fail();
    if (this.#isReused(event)) return { outcome: "reused", id: event.id };
    const mark = event.mark && event.mark.key.toString("hex") + (event.mark.bodyHash?.toString("hex") ?? "");
    const known = mark === undefined ? undefined : this.#marks.get(mark);
    if (known !== undefined) return { outcome: this.reviving ? "revived" : "duplicate", id: known };
    if (mark !== undefined) this.#marks.set(mark, event.id);
    this.claimed.push(event);
    return { outcome: "new", id: event.id };
  }

  async keep(kept: KeptHandshake): Promise<void> {
    await this.#fail();
    this.kept.push(kept);
  }

  reject(rejection: Rejection): void {
    this.rejections.push(rejection);
  }

  async #fail(): Promise<void> {
    if (this.fault === "hang") return await new Promise<never>(() => undefined);
    if (this.fault === "bug") throw new TypeError("not a function");
    if (this.fault !== undefined) throw new CustodyError(this.fault, "injected");
  }

  /** A nonce that was good for another body. */
  #isReused({ nonce }: NewEvent): boolean {
    if (nonce === undefined) return false;
    const [key, body] = [nonce.key.toString("hex"), nonce.bodyHash.toString("hex")];
    const isOther = (this.#nonces.get(key) ?? body) !== body;
    if (!isOther) this.#nonces.set(key, body);
    return isOther;
  }
}
