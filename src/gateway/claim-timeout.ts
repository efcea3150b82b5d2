/** The answer must be out within 2.5 s of the claim, whatever the store does. */
export const CLAIM_TIMEOUT_MS = 2_400;
