import type { CustomConfig } from "../config.ts";
import type { SchemeKind } from "./scheme-kind.ts";

/** A provider's own scheme, which says of itself what the others say by their settings. */
export const customKind: SchemeKind<CustomConfig> = {
  create: ({ create }, options) => create(options),
  covers: ({ covers: { body, headers = [], fields = [] } }) => ({ body, headers, fields }),
  signsTime: ({ signsTime }) => signsTime,
  signsUrl: ({ covers }) => covers.url === true,
  readsKeyIds: () => true,
  describe: ({ description, covers }) => ({
    place: description,
    algorithm: "of its own",
    content: covers.body ? "with the body" : covers.fields ? "fields of the body" : "without the body",
  }),
};
