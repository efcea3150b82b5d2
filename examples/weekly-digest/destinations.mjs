// Prints a WebhookDestination for each customer, to be applied or kept in Git:
//
//   node destinations.mjs CUSTOMERS.json > destinations.yaml
//
// CUSTOMERS.json: [{"id": "…", "url": "https://…", …}]. The id is what an event names (route.yaml: idFrom); it need be no Kubernetes name.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const [customersFile] = process.argv.slice(2);
if (!customersFile) throw new Error("usage: node destinations.mjs CUSTOMERS.json");

/** @type {{ id: string, url: string }[]} */
const customers = JSON.parse(readFileSync(customersFile, "utf8"));
for (const { id, url } of customers) {
  const name = nameOf(id);
  // For receivers of your own on this machine.
  const insecure = url.startsWith("http:") ? "\n  allowInsecureHTTP: true" : "";
  console.log(`---
apiVersion: davit.dev/v1alpha1
kind: WebhookDestination
metadata: { name: ${name}, namespace: digest, labels: { example.com/digest: weekly } }
spec:
  id: ${JSON.stringify(id)}
  url: ${JSON.stringify(url)}${insecure}
  signing: { scheme: StandardWebhooks, secretRef: { name: weekly-digest-signing, key: ${name} } }`);
}

/**
 * The id where that is a Kubernetes name, else one made of it that no other id has.
 *
 * @param {string} id
 */
function nameOf(id) {
  if (/^[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?$/.test(id)) return id;
  return `customer-${createHash("sha256").update(id).digest("hex").slice(0, 16)}`;
}
