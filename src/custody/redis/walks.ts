/** What `walk-dead` looked at and found. */
export interface WalkedDead {
  /** End of the time range, Unix ms. */
  readonly to: number;
  readonly scanned: number;
  readonly matched: number;
  /** Position of the next page; empty at the end. */
  readonly score: string;
  readonly member: string;
  readonly found: readonly { readonly row: string; readonly diedAt: number }[];
}

export type WalkDeadReply = [
  to: string,
  scanned: number,
  matched: number,
  score: string,
  member: string,
  found: string[],
];

export function readWalkedDead([to, scanned, matched, score, member, found]: WalkDeadReply): WalkedDead {
  const rows = pairsOf(found).map(([row, diedAt]) => ({ row, diedAt: Number(diedAt) }));
  return { to: Number(to), scanned, matched, score, member, found: rows };
}

/** What `walk-log` looked at and found. Sequences but for the counts. */
export interface WalkedLog {
  /** End of the range; 0 when it has none. */
  readonly to: number;
  readonly position: string;
  readonly more: boolean;
  readonly copies: number;
  readonly active: number;
  readonly unreadable: number;
  /** The highest that retention removed. */
  readonly gone: number;
  /** The last one before the route's first. */
  readonly born: number;
  /** The last one given out. */
  readonly last: number;
  readonly found: readonly { readonly id: string; readonly sequence: number }[];
}

export type WalkLogReply = [
  to: string,
  position: string,
  more: number,
  copies: number,
  active: number,
  unreadable: number,
  gone: string,
  born: string,
  last: string,
  found: string[],
];

export function readWalkedLog(reply: WalkLogReply): WalkedLog {
  const [to, position, more, copies, active, unreadable, gone, born, last, found] = reply;
  return {
    to: Number(to),
    position,
    more: more === 1,
    copies,
    active,
    unreadable,
    gone: Number(gone),
    born: Number(born),
    last: Number(last),
    found: pairsOf(found).map(([id, sequence]) => ({ id, sequence: Number(sequence) })),
  };
}

function pairsOf(values: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < values.length; i += 2) pairs.push([values[i] ?? "", values[i + 1] ?? ""]);
  return pairs;
}
