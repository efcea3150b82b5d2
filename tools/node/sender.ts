import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { HOST } from "./manifests.ts";

/** What the gateway answered, or that there was no answer (status 0). */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

/** What a time of load brought. */
export interface Load {
  /** Numbers of the events that were answered 2xx. */
  readonly accepted: readonly number[];
  /** Every other answer, as text. */
  readonly refused: readonly string[];
}

/** Clients at the same time, each with a pause between its requests: about 100 requests a second. */
const CLIENTS = 8;
const PAUSE_MS = 70;

/** Sends events as GitHub would, from outside of the cluster, each with a number of its own. Nothing is tried twice. */
export class Sender {
  readonly #agent = new Agent({ connections: CLIENTS });
  /** Of the gateways' Service. */
  readonly address: string;
  #last = 0;

  /** @param address of the gateways' Service */
  constructor(address: string) {
    this.address = address;
  }

  /** Sends an event, signed with `key`. @param again number of one that was sent before; default: a new one */
  async send(path: string, key: string, again?: number): Promise<Answer & { readonly number: number }> {
    if (again === undefined) this.#last += 1;
    const number = again ?? this.#last;
    const body = JSON.stringify({ number });
    const signature = createHmac("sha256", key).update(body).digest("hex");
    const headers = {
      host: HOST,
      "content-type": "application/json",
      "x-github-event": "push",
      "x-github-delivery": `delivery-${number}`,
      "x-hub-signature-256": `sha256=${signature}`,
    };
    try {
      const url = `http://${this.address}${path}`;
      const answer = await request(url, {
        dispatcher: this.#agent,
        method: "POST",
        headers,
        body,
        headersTimeout: 10_000,
      });
      return { number, status: answer.statusCode, body: await answer.body.text() };
    } catch (error) {
      return { number, status: 0, body: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Sends without a break until the signal fires. */
  async load(path: string, key: string, until: AbortSignal): Promise<Load> {
    const accepted: number[] = [];
    const refused: string[] = [];
    const client = async () => {
      while (!until.aborted) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const { number, status, body } = await this.send(path, key);
        if (status >= 200 && status < 300) accepted.push(number);
        else refused.push(`${status} ${body}`);
        // oxlint-disable-next-line no-await-in-loop -- as above
        await sleep(PAUSE_MS);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    return { accepted, refused };
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
