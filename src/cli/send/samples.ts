/** What a message of a provider looks like when the user gives none. */
export interface Sample {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

type MakeSample = (now: number) => Sample;

const SAMPLES: ReadonlyMap<string, MakeSample> = new Map<string, MakeSample>([
  [
    "github",
    () => ({
      headers: { "x-github-event": "push" },
      body: { ref: "refs/heads/main", repository: { full_name: "octo-org/octo-repo" } },
    }),
  ],
  [
    "stripe",
    (now) => ({
      headers: {},
      body: {
        id: "",
        object: "event",
        type: "invoice.paid",
        created: Math.floor(now / 1_000),
        data: { object: { object: "invoice", amount_paid: 4_200, currency: "eur" } },
      },
    }),
  ],
  [
    "standard-webhooks",
    (now) => ({
      headers: {},
      body: { type: "order.created", timestamp: new Date(now).toISOString(), data: { order: "4711" } },
    }),
  ],
]);

/** A sample message; of a plain kind for what has none of its own. */
export function sampleFor(provider: string, now: number): Sample {
  return SAMPLES.get(provider)?.(now) ?? { headers: {}, body: { type: "sample.sent", message: "hello" } };
}
