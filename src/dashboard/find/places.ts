/** Where a person can go, and by which words they may look for it. */
import { ACTIONS } from "./actions.ts";
import type { Audience, Place } from "./place.ts";

const PAGES: Place[] = [
  { address: "/", name: "Home", words: "overview start first steps", for: "everybody" },
  { address: "/models", name: "Models", words: "explore gallery browse", for: "everybody" },
  { address: "/docs", name: "API reference", words: "docs help calls openapi", for: "everybody" },
  { address: "/sign-in", name: "Sign in", words: "log in login", for: "nobody" },
  { address: "/predictions", name: "Predictions", words: "runs jobs history", for: "user" },
  {
    address: "/predictions?statuses=failed",
    name: "Failed predictions",
    words: "errors",
    for: "user",
  },
  {
    address: "/tokens",
    name: "Access tokens",
    words: "api keys revoke secret",
    for: "user",
  },
  { address: "/account", name: "Profile", words: "username avatar picture", for: "user" },
  {
    address: "/account/usage",
    name: "Usage",
    words: "cost price billing storage",
    for: "user",
  },
  {
    address: "/account/images",
    name: "Images",
    words: "container registry docker push pull tags repositories storage",
    for: "user",
  },
  {
    address: "/account/security",
    name: "Security",
    words: "password passkey sessions sign out everywhere github",
    for: "user",
  },
  {
    address: "/account/webhooks",
    name: "Webhooks",
    words: "endpoints callbacks events secrets",
    for: "user",
  },
  {
    address: "/account/webhooks/deliveries",
    name: "Webhook deliveries",
    words: "redeliver replay events failed hooks",
    for: "user",
  },
  { address: "/account/shares", name: "Shared links", words: "share links revoke", for: "user" },
  { address: "/account/export", name: "Download your data", words: "export account", for: "user" },
  { address: "/account/delete", name: "Delete your account", words: "close remove", for: "user" },
  { address: "/fleet", name: "Fleet", words: "runners machines gpus", for: "operator" },
  {
    address: "/fleet/hardware",
    name: "Hardware",
    words: "classes gpu price pool",
    for: "operator",
  },
  { address: "/fleet/tokens", name: "Runner tokens", words: "machine keys", for: "operator" },
  { address: "/users", name: "Users", words: "people accounts suspend", for: "operator" },
  { address: "/users?show=operators", name: "Operators", words: "users demote", for: "operator" },
  {
    address: "/users?show=suspended",
    name: "Suspended accounts",
    words: "users restore",
    for: "operator",
  },
  {
    address: "/look-up",
    name: "Look up a prediction",
    words: "search find anybody id support explain",
    for: "operator",
  },
];

/** Whose places a person sees. */
export function audiencesOf(viewer: { operator: boolean } | undefined): Audience[] {
  if (!viewer) return ["everybody", "nobody"];
  return viewer.operator ? ["everybody", "user", "operator"] : ["everybody", "user"];
}

const seenBy = (audiences: readonly Audience[], places: Place[]) =>
  places.filter((place) => audiences.includes(place.for));

export const pagesFor = (audiences: readonly Audience[]): Place[] => seenBy(audiences, PAGES);
export const actionsFor = (audiences: readonly Audience[]): Place[] => seenBy(audiences, ACTIONS);

/** Those with all words of the query, the ones whose name has the first of them first. */
export function findPlaces(audiences: readonly Audience[], query: string): Place[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const [first = ""] = words;
  const found = seenBy(audiences, [...PAGES, ...ACTIONS]).filter((place) => {
    const text = `${place.name} ${place.words ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const { named = [], meant = [] } = Object.groupBy(found, ({ name }) =>
    name.toLowerCase().includes(first) ? "named" : "meant",
  );
  return [...named, ...meant];
}
