/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitute = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitute, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** The candidate a mistyped name most likely meant: same but for case, or at most two letters off. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  const scored = candidates.map((candidate) => ({ candidate, score: distance(wanted, candidate.toLowerCase()) }));
  const best = scored.toSorted((a, b) => a.score - b.score)[0];
  return best !== undefined && best.score <= Math.min(2, wanted.length - 1) ? best.candidate : undefined;
}
