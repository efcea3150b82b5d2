/** RFC 5321 §4.5.3.1.3. */
const MOST = 254;
/** RFC 5322 §3.2.3 `dot-atom-text`, at most 64 characters (RFC 5321 §4.5.3.1.1); it does not start with a hyphen, which programs take for an option. */
const LOCAL_PART = /^(?!-)(?=.{1,64}$)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
/** RFC 1123 §2.1, in ASCII. */
const DOMAIN = /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

/** Whether a text is one mail address and nothing else: printable ASCII, no quoted part, no name, list or comment, no line end. */
export function isMailAddress(text: string): boolean {
  const at = text.lastIndexOf("@");
  return at > 0 && text.length <= MOST && LOCAL_PART.test(text.slice(0, at)) && DOMAIN.test(text.slice(at + 1));
}
