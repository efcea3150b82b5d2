import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { HOST } from "../../../src/gateway/testing.ts";

/** What came of requests: by status, or by the error's code. */
export type Outcomes = Readonly<Record<string, number>>;

/** Senders that post to whatever `target` names at the time, one request after the other on kept connections. */
export class Load {
  readonly #agent = new Agent({ connections: 4 });
  readonly #outcomes: Record<string, number> = {};
  readonly #running: Promise<void>[];
  #stopped = false;
  #sent = 0;

  /** @param target base URL and path */
  constructor(target: () => string, senders = 4) {
    this.#running = Array.from({ length: senders }, () => this.#send(target));
  }

  get outcomes(): Outcomes {
    return this.#outcomes;
  }

  /** Stops and waits for the last answers. */
  async stop(): Promise<Outcomes> {
    this.#stopped = true;
    await Promise.all(this.#running);
    await this.#agent.close();
    return this.#outcomes;
  }

  async #send(target: () => string): Promise<void> {
    while (!this.#stopped) {
      const outcome = await post(target(), `load-${this.#sent++}`, this.#agent).catch((error: unknown) =>
        String((error as NodeJS.ErrnoException).code ?? error),
      );
      this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + 1;
      await sleep(2);
    }
  }
}

/** Posts an event. @returns the status */
export async function post(url: string, id: string, dispatcher?: Agent): Promise<number> {
  const response = await request(url, {
    method: "POST",
    headers: { host: HOST, "content-type": "application/json", "x-delivery-id": id },
    body: JSON.stringify({ id }),
    ...(dispatcher && { dispatcher }),
  });
  await response.body.dump();
  return response.statusCode;
}
