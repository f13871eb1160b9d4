import type { Step } from "./step.ts";

/** First, so that whoever is not logged in is told nothing else. */
export const account: Step = {
  title: "Cloudflare account",
  async run({ cloudflare, note }) {
    note((await cloudflare.accounts()).map(({ name, id }) => `${name} (${id})`).join(", "));
  },
};
