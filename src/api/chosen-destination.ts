import { presets } from "../verification/presets/index.ts";
import { isSigned } from "../verification/verifier.ts";
import { type Check, warn } from "./check.ts";
import type { ResolvedWebhookRouteSpec } from "./defaults.ts";
import { verifierConfig } from "./verifier-config.ts";

/**
 * The header by which events choose their destination (`destinationSelector.idFrom`), when the sender's signature covers the body and not that header: then
 * whoever gets hold of a signed request can send it to another destination. `undefined`: there is no such thing. A token, as `none`, signs nothing at all.
 */
export function unsignedIdHeader(spec: ResolvedWebhookRouteSpec): string | undefined {
  const name = headerOf(spec.destinationSelector?.idFrom);
  const { provider = "", parameters } = spec.verification;
  if (name === undefined || (provider !== "" && !presets.has(provider))) return undefined;
  const idHeader = spec.dedupe.keyFrom.map(headerOf).find((header) => header !== undefined);
  const options = {
    ...(idHeader !== undefined && { idHeader: idHeader.toLowerCase() }),
    ...(parameters && { parameters }),
  };
  const config = verifierConfig(spec);
  const isOpen = isSigned(config, "body", options) && !isSigned(config, { header: name.toLowerCase() }, options);
  return isOpen ? name : undefined;
}

function headerOf(source: string | undefined): string | undefined {
  return source?.startsWith("header:") === true ? source.slice("header:".length) : undefined;
}

/** Warns of {@link unsignedIdHeader}. */
export const chosenDestinationIsSigned: Check = ({ spec }) => {
  const header = unsignedIdHeader(spec);
  if (header === undefined) return [];
  return [
    warn({
      path: "spec.destinationSelector.idFrom",
      message: `header ${header} is not covered by the signature: whoever has a signed request can send it to another destination`,
      remedy: "read the id from the body (json:/…), or have the sender sign the header",
    }),
  ];
};
