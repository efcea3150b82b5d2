const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Numbers of those signals (POSIX): a process that one ends has exit code 128 + number. */
const NUMBERS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;

/** A terminal sends Ctrl-C to npm and to us, and npm hands it on: within this time two are one, ms. */
const ONE_PRESS_MS = 300;

/** Aborts at the first SIGINT, SIGTERM or SIGHUP; the second ends the process at once (an embedded Redis goes with it and loses nothing). */
export function stopSignals(): { readonly signal: AbortSignal; release(): void } {
  const stopping = new AbortController();
  let firstAt = 0;
  const onSignal = (name: (typeof SIGNALS)[number]) => {
    if (!stopping.signal.aborted) {
      firstAt = performance.now();
      stopping.abort();
    } else if (performance.now() - firstAt > ONE_PRESS_MS) process.exit(128 + NUMBERS[name]);
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return {
    signal: stopping.signal,
    release: () => {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}
