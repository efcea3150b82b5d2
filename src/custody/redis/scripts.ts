import { readFileSync } from "node:fs";
import type { Redis } from "ioredis";
import type { StatisticsReply } from "./statistics.ts";
import { OPERATION_SCRIPTS, type OperationReplies } from "./operation-scripts.ts";

const NAMES = ["claim", "replay", "statistics", "destinations", "gates"] as const;
/** Scripts that need `lua/backlog.lua` too: the command's name and the file's. */
const BACKLOG_SCRIPTS = { stats: "stats", sharedBacklogs: "shared-backlogs" } as const;
/** Scripts that need `lua/notices.lua` too: the command's name and the file's. */
const NOTICE_SCRIPTS = {
  takeNotices: "take-notices",
  settleNotices: "settle-notices",
  postponeNotice: "postpone-notice",
} as const;
/** Scripts that need `lua/gate.lua` too, and with it `lua/notices.lua`. */
const GATE_NAMES = ["turn", "done", "enable", "hold"] as const;
/** Scripts that need `lua/shelf.lua` too. */
const SHELF_NAMES = ["janitor", "shelve", "unshelve", "purge", "adopt", "orphans"] as const;

/** A custody script: `KEYS[1]` is the tag with a colon, the rest is in the script's own header. */
type Run<T> = (prefix: string, ...args: (string | number | Buffer)[]) => Promise<T>;

type OperationCommands = { [Name in keyof OperationReplies]: Run<OperationReplies[Name]> };

/** Commands the scripts add to a client. `turnBuffer` answers with Buffers: bodies are bytes, not text. */
export interface ScriptCommands extends OperationCommands {
  claim: Run<string[]>;
  turnBuffer: Run<TurnReply>;
  done: Run<TicketEnd[]>;
  janitor: Run<[] | [more: number, tickets: string[], replaying: number, tally: string[]]>;
  replay: Run<number>;
  enable: Run<string>;
  hold: Run<string>;
  takeNotices: Run<(string | number)[]>;
  settleNotices: Run<number>;
  postponeNotice: Run<number>;
  stats: Run<(string | number)[]>;
  sharedBacklogs: Run<[now: string, next: string, ...values: (string | number)[]]>;
  statistics: Run<StatisticsReply>;
  destinations: Run<string[]>;
  gates: Run<string[]>;
  shelve: Run<[shelved: number, active: number, more: number]>;
  unshelve: Run<[unshelved: number, more: number, passed: number]>;
  purge: Run<
    [refused: number] | [records: number, undelivered: number, dead: number, unreadable: number, more: number]
  >;
  adopt: Run<[refused: number] | [moved: number, left: number, position: string]>;
  orphans: Run<(string | number)[]>;
}

/** What became of a ticket: wake is below 0 when there is more to take, 0 or the Unix ms for which a ticket is needed. */
export type TicketEnd = [wake: number, generation: string, servedBy?: string];

/** Fenced indexes, unknown, workerLost, expired, waiting, now, three values a copy, ms until gates may permit more, changes of gates. */
export type TurnReply = [number[], number, number, number, number[], Buffer, Buffer[], number[], Buffer[]];

const source = (name: string) => readFileSync(new URL(`lua/${name}.lua`, import.meta.url), "utf8");
const library = source("lib");
const backlogLibrary = `${library}\n${source("backlog")}`;
const noticeLibrary = `${library}\n${source("notices")}`;
const gateLibrary = `${noticeLibrary}\n${source("gate")}`;
const shelfLibrary = `${library}\n${source("shelf")}`;

/** Teaches a client the custody scripts (EVALSHA, with EVAL when the server does not know one yet). */
export function withScripts(redis: Redis): Redis & ScriptCommands {
  for (const name of NAMES) redis.defineCommand(name, { numberOfKeys: 1, lua: `${library}\n${source(name)}` });
  for (const [name, file] of Object.entries(BACKLOG_SCRIPTS)) {
    redis.defineCommand(name, { numberOfKeys: 1, lua: `${backlogLibrary}\n${source(file)}` });
  }
  for (const [name, file] of Object.entries(NOTICE_SCRIPTS)) {
    redis.defineCommand(name, { numberOfKeys: 1, lua: `${noticeLibrary}\n${source(file)}` });
  }
  for (const name of GATE_NAMES) redis.defineCommand(name, { numberOfKeys: 1, lua: `${gateLibrary}\n${source(name)}` });
  for (const name of SHELF_NAMES) {
    redis.defineCommand(name, { numberOfKeys: 1, lua: `${shelfLibrary}\n${source(name)}` });
  }
  const operations = `${library}\n${source("operations")}`;
  for (const [name, file] of Object.entries(OPERATION_SCRIPTS)) {
    redis.defineCommand(name, { numberOfKeys: 1, lua: `${operations}\n${source(file)}` });
  }
  return redis as Redis & ScriptCommands;
}
