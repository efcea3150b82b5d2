import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** What a request asks for. */
export interface Asked {
  readonly verb: string;
  readonly plural: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/** What happens to a request instead of, or before, its answer. */
export type Fault =
  /** Refused with this status. */
  | { readonly answer: number; readonly retryAfterSeconds?: number; readonly reason?: string; readonly text?: string }
  /** The connection breaks before the request is carried out. */
  | { readonly cut: "before" }
  /** The request is carried out, then the connection breaks: the answer is lost. */
  | { readonly cut: "after" }
  /** Nothing is ever answered. */
  | { readonly silent: true }
  /** The answer begins at once and never ends, a space every 10 ms. */
  | { readonly trickle: true }
  /** Carried out, but only after so long. */
  | { readonly delayMs: number };

interface Planned {
  readonly fault: Fault;
  readonly meant: (asked: Asked) => boolean;
  left: number;
}

/** Faults that wait for their requests. */
export class Faults {
  readonly #planned: Planned[] = [];

  /** Lets the next `times` requests that are meant fail so. @returns takes it back */
  plan(fault: Fault, meant: (asked: Asked) => boolean = () => true, times = 1): () => void {
    const planned = { fault, meant, left: times };
    this.#planned.push(planned);
    return () => {
      planned.left = 0;
    };
  }

  take(asked: Asked): Fault | undefined {
    const planned = this.#planned.find(({ left, meant }) => left > 0 && meant(asked));
    if (planned) planned.left -= 1;
    return planned?.fault;
  }
}

/** @returns whether the request is dealt with; if not, it is to be carried out */
export async function suffer(fault: Fault, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  if ("delayMs" in fault) {
    await sleep(fault.delayMs);
    return false;
  }
  if ("silent" in fault) return true;
  if ("trickle" in fault) {
    const timer = setInterval(() => response.write(" "), 10);
    response.on("close", () => clearInterval(timer));
    return true;
  }
  if ("cut" in fault) {
    if (fault.cut === "after") {
      response.end = (() => {
        request.socket.destroy();
        return response;
      }) as typeof response.end;
      return false;
    }
    request.socket.destroy();
    return true;
  }
  const { answer: code, reason = "Fault", retryAfterSeconds, text } = fault;
  if (retryAfterSeconds !== undefined) response.setHeader("retry-after", String(retryAfterSeconds));
  const message = "planned by the test";
  response.statusCode = code;
  response.end(text ?? JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message }));
  return true;
}
