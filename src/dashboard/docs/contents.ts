/** The pages of the documentation, in the order of its navigation. */
import { tags } from "../../openapi/introduction.ts";
import { slugOf } from "../ui/markdown.ts";

export const DOCS = "/docs";
export const SEARCH = `${DOCS}/search`;
export const REFERENCE = `${DOCS}/reference`;
export const SCHEMAS = `${REFERENCE}/schemas`;

/** The page of a group of endpoints, by the group's name in the OpenAPI document. */
export const groupPath = (name: string) => `${REFERENCE}/${slugOf(name)}`;

/** A page by its path, or a guide by its file in src/dashboard/guides, and what the navigation calls it. */
export type Entry = readonly [name: string, label: string];

const USING: Entry[] = [
  ["calling", "Calling models"],
  ["openai", "OpenAI clients"],
  ["anthropic", "Anthropic clients"],
  ["replicate", "Coming from Replicate"],
  ["web-pages", "Call from a web page"],
  ["files", "Files"],
  ["webhooks", "Webhooks"],
  ["publishing", "Publishing models"],
  ["models", "Models and versions"],
  ["remote-versions", "Remote versions"],
  ["deployments", "Deployments"],
  ["costs", "Costs, budgets and limits"],
  ["teams", "Teams"],
  ["deploying", "Deploying and operating"],
  ["sign-in-and-audit", "Sign-in and audit"],
  ["monitoring", "Monitoring"],
  ["runners", "Runners and containers"],
  ["limits", "Limits"],
];

const CONTRIBUTING: Entry[] = [
  ["architecture", "Architecture"],
  ["decisions", "Decisions"],
];

const pathOf = (name: string) => `${DOCS}/${name}`;

const pages = (entries: Entry[]) => entries.map(([name, label]): Entry => [pathOf(name), label]);

export const REFERENCE_PAGES: Entry[] = [
  [REFERENCE, "Overview"],
  ...tags.map(({ name }): Entry => [groupPath(name), name]),
  [SCHEMAS, "Schemas"],
];

export const NAVIGATION: { title: string; pages: Entry[] }[] = [
  { title: "Guides", pages: pages(USING) },
  { title: "API reference", pages: REFERENCE_PAGES },
];

/** Linked from the end of the map only: neither the sidebar nor the search has them. */
export const FOR_CONTRIBUTORS = pages(CONTRIBUTING);

export const GUIDES = new Map([...USING, ...CONTRIBUTING].map(([name]) => [pathOf(name), name]));

/** Every page of the documentation but the search. */
export const PAGES = [DOCS, ...GUIDES.keys(), ...REFERENCE_PAGES.map(([path]) => path)];

const PATHS = new Set([SEARCH, ...PAGES]);

/** Whether the documentation has something at this URL. */
export const isDocs = (url: string) => PATHS.has(new URL(url).pathname);
