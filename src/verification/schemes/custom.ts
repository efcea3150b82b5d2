import type { CustomConfig } from "../config.ts";
import type { SchemeKind } from "./scheme-kind.ts";

/** A provider's own scheme, which says of itself what the others say by their settings. */
export const customKind: SchemeKind<CustomConfig> = {
  create: ({ create }, options) => create(options),
  covers: ({ covers }) => ({ body: covers.body, headers: covers.headers ?? [] }),
  signsTime: ({ signsTime }) => signsTime,
  describe: ({ description, covers }) => ({
    place: description,
    algorithm: "of its own",
    content: covers.body ? "with the body" : "without the body",
  }),
};
