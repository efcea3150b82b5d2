import { isIP } from "node:net";
import { z } from "zod";
import { HOST_PATTERN } from "../lib/host-pattern.ts";
import { isMailAddress } from "../lib/mail-address.ts";

/** A whole number of bytes, replicas, milliseconds … within bounds, ends included. */
export const whole = (min: number, max: number) => z.number().int().min(min).max(max);

/** A TCP port; 0 is any free one. */
export const port = () => whole(0, 65_535);

/** A Kubernetes name that is one DNS label (RFC 1123). */
export const label = () =>
  z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "write a DNS label: lower-case letters, digits and '-'");

/** A path. What lies there is read, so a URL or the content itself in its place is a secret that has strayed. */
export const filePath = () =>
  z
    .string()
    .regex(
      /^(?![A-Za-z][A-Za-z0-9+.-]*:\/\/)[^\n]+$/,
      "is no path: secrets stay out of the config, write its path here",
    );

/** `10.0.0.0/8`, `fd00::/8` or one address. */
export const addressRange = () =>
  z.string().refine(isAddressRange, "is no address range: write it as 10.0.0.0/8 or fd00::/8");

/** {@link addressRange}, or a host's name: `proxy.example.com`, `*.example.com` for all below it. */
export const rangeOrHost = () =>
  z
    .string()
    .refine(
      (text) => isAddressRange(text) || HOST_PATTERN.test(text),
      "is neither an address range nor a host: write it as 10.0.0.0/8, fd00::/8, proxy.example.com or *.example.com",
    );

function isAddressRange(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 6 ? 128 : 32));
}

/** One mail address and nothing else. */
export const mailAddress = () =>
  z.string().refine(isMailAddress, "is no mail address: write it as davit@example.com, without a name");
