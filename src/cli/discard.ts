import type { DeadLetterFilter } from "../custody/operations.ts";
import { type Command, parse, UsageError } from "./command.ts";
import { ACCESS_OPTIONS, ACCESS_USAGE, openCustody } from "./custody-access.ts";
import { type Act, actOnAll, actOnEvent } from "./operations/act.ts";
import { isRestricted, LETTER_OPTIONS, LETTER_USAGE, letterPlaces } from "./operations/filters.ts";

const USAGE = `davit discard EVENT_ID [--destination NAME] [--restore] [flags]
       davit discard filters [--yes] [--restore] [flags]

Takes dead letters away. They can be restored for 24 hours; then their bodies are removed. A redelivery by the provider is a duplicate at once. With
filters it only says how many there are, unless --yes is given.
${LETTER_USAGE}
  --all                every dead letter
  --restore            makes discarded ones dead letters again
  --yes                do it
${ACCESS_USAGE}
`;

const DISCARD: Act<DeadLetterFilter> = {
  done: "discarded",
  wanted: "dead",
  act: (operations, selection) => operations.discard(selection),
  count: (operations, filter) => operations.countDeadLetters(filter),
};
const RESTORE: Act<DeadLetterFilter> = {
  done: "restored",
  wanted: "discarded",
  act: (operations, selection) => operations.restore(selection),
};

/** `davit discard`: takes dead letters away, or brings them back. */
export const command: Command = {
  name: "discard",
  summary: "take dead letters away; for 24 h they can be restored",
  usage: USAGE,
  async run(argv, io) {
    const { values, positionals } = parse(
      argv,
      {
        ...ACCESS_OPTIONS,
        ...LETTER_OPTIONS,
        all: { type: "boolean", default: false },
        restore: { type: "boolean", default: false },
        yes: { type: "boolean", default: false },
      },
      1,
    );
    const id = positionals[0]?.toUpperCase();
    if (id === undefined && !values.all && !isRestricted(values)) {
      throw new UsageError("name the event's id (davit deadletters lists them), a filter, or --all");
    }
    const act = values.restore ? RESTORE : DISCARD;
    const access = await openCustody(values);
    try {
      if (id !== undefined) return await actOnEvent(act, access, { id, destination: values.destination }, io);
      const places = letterPlaces(access, values, Date.now());
      return await actOnAll(act, access, { places, isAgreed: values.yes }, io);
    } finally {
      access.close();
    }
  },
};
