/** The pages of the documentation, in the order of its navigation. */

export const REFERENCE = "/docs";
export const SEARCH = "/docs/search";

/** A guide by its file in src/dashboard/guides, and what the navigation calls it. */
type Entry = readonly [name: string, label: string];

const USING: Entry[] = [
  ["calling", "Calling models"],
  ["openai", "OpenAI clients"],
  ["anthropic", "Anthropic clients"],
  ["replicate", "Coming from Replicate"],
  ["files", "Files"],
  ["webhooks", "Webhooks"],
  ["publishing", "Publishing models"],
  ["models", "Models and versions"],
  ["deploying", "Deploying and operating"],
  ["runners", "Runners and containers"],
  ["limits", "Limits"],
];

const CONTRIBUTING: Entry[] = [
  ["architecture", "Architecture"],
  ["decisions", "Decisions"],
];

const pathOf = (name: string) => `${REFERENCE}/${name}`;

const pages = (entries: Entry[]) => entries.map(([name, label]): Entry => [pathOf(name), label]);

export const NAVIGATION: { title: string; pages: Entry[] }[] = [
  { title: "Guides", pages: pages(USING) },
  { title: "Reference", pages: [[REFERENCE, "API reference"]] },
];

/** Linked from the end of the map only: neither the sidebar nor the search has them. */
export const FOR_CONTRIBUTORS = pages(CONTRIBUTING);

export const GUIDES = new Map([...USING, ...CONTRIBUTING].map(([name]) => [pathOf(name), name]));

const PATHS = new Set([REFERENCE, SEARCH, ...GUIDES.keys()]);

/** Whether the documentation has something at this URL. */
export const isDocs = (url: string) => PATHS.has(new URL(url).pathname);
