// Upper bound of delivery with this HTTP client: undici in a closed loop, same body, connections and destination; no store, no signature.
import { Pool } from "undici";
import { serve } from "../child.ts";
import { childSettings, CONNECTIONS } from "../settings.ts";
import { benchBody } from "../signed-requests.ts";

const pool = new Pool(childSettings().sinkUrl ?? "", { connections: CONNECTIONS });
const body = benchBody("bench");
const headers = { "content-type": "application/json" };

serve("ready", async ({ requests }: { readonly requests: number }) => {
  let left = requests;
  const loop = async () => {
    while (left-- > 0) {
      const answer = await pool.request({ path: "/", method: "POST", headers, body });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, loop));
  return "done";
});
