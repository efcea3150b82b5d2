import { expect, test } from "vitest";
import { isMailAddress } from "./mail-address.ts";

test.each(["ops@example.com", "a.b+c@mail.example.com", "root@localhost", "o'neill@example.com"])(
  "%j is one mail address",
  (text) => {
    expect(isMailAddress(text)).toBe(true);
  },
);

test.each([
  "",
  "ops",
  "@example.com",
  "ops@",
  "-oQ/tmp@example.com",
  ".ops@example.com",
  "a..b@example.com",
  "a@b@example.com",
  "Ops <ops@example.com>",
  "ops@example.com,eve@example.net",
  "ops@example.com\r\nBcc: eve@example.net",
  "ops@example.com\n",
  "ops\u0000@example.com",
  '"a b"@example.com',
  "ops@-example.com",
  "ops@exa mple.com",
  "müller@example.com",
  `${"a".repeat(65)}@example.com`,
  `a@${"b".repeat(260)}.com`,
])("%j is no mail address", (text) => {
  expect(isMailAddress(text)).toBe(false);
});
