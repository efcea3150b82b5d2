import type { ServerResponse } from "node:http";
import type { FakeStore, HistoryEvent } from "./store.ts";

/** What a watch is about. */
export interface Subject {
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly isSelected: (object: HistoryEvent["object"]) => boolean;
  /** Whether it asked for bookmarks. */
  readonly wantsBookmarks: boolean;
}

interface Watch extends Subject {
  readonly response: ServerResponse;
  isSilent: boolean;
}

/** The open watches, and what can happen to them. */
export class Watches {
  readonly #open = new Set<Watch>();

  constructor(store: FakeStore) {
    store.listen((event) => {
      for (const watch of this.#open) if (!watch.isSilent) write(watch, event);
    });
  }

  /** Watches open now. */
  get count(): number {
    return this.#open.size;
  }

  open(response: ServerResponse, subject: Subject, past: readonly HistoryEvent[]): void {
    const watch = { ...subject, response, isSilent: false };
    response.flushHeaders();
    for (const event of past) write(watch, event);
    this.#open.add(watch);
    response.on("close", () => this.#open.delete(watch));
  }

  /** Breaks every connection that carries a watch. Returns once they are gone. */
  cut(): void {
    for (const { response } of this.#open) response.socket?.destroy();
    this.#open.clear();
  }

  /** Ends every watch, as the server does after `timeoutSeconds`. */
  end(): void {
    for (const { response } of this.#open) response.end();
    this.#open.clear();
  }

  /** The open watches stay, and nothing comes over them any more. */
  silence(): void {
    for (const watch of this.#open) watch.isSilent = true;
  }

  /** Writes the same line to all. */
  send(line: string): void {
    for (const watch of this.#open) say(watch, line);
  }

  /** Writes a bookmark to those that asked for them. */
  bookmark(line: string): void {
    for (const watch of this.#open) if (watch.wantsBookmarks) say(watch, line);
  }
}

function say({ response, isSilent }: Watch, line: string): void {
  if (!isSilent) response.write(`${line}\n`);
}

function write({ response, ...subject }: Watch, { type, collection, object, previous }: HistoryEvent): void {
  if (collection !== subject.collection) return;
  if (subject.namespace !== undefined && object.metadata.namespace !== subject.namespace) return;
  const was = previous !== undefined && subject.isSelected(previous);
  const is = type !== "DELETED" && subject.isSelected(object);
  if (!was && !is) return;
  const told = is ? (was ? "MODIFIED" : "ADDED") : "DELETED";
  response.write(`${JSON.stringify({ type: told, object })}\n`);
}
