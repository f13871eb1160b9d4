/** What a person can do, and by which words they may look for it: each leads to its form or button. */
import type { Place } from "./place.ts";

export const ACTIONS: Place[] = [
  { address: "/models/new", name: "Create a model", words: "new add", for: "user" },
  { address: "/models/publish", name: "Publish a model", words: "push upload image", for: "user" },
  {
    address: "/predictions?statuses=pending&statuses=started",
    name: "Cancel a prediction",
    words: "stop abort end kill run running waiting",
    for: "user",
  },
  {
    address: "/tokens#new-token",
    name: "Create an access token",
    words: "new add make api key secret",
    for: "user",
  },
  {
    address: "/account/webhooks#new-endpoint",
    name: "Add a webhook endpoint",
    words: "new create callback",
    for: "user",
  },
  {
    address: "/account/usage#csv",
    name: "Download usage as CSV",
    words: "export spreadsheet excel costs",
    for: "user",
  },
  {
    address: "/account/security#password-title",
    name: "Change password",
    words: "set new your",
    for: "user",
  },
  {
    address: "/account/security#passkeys-title",
    name: "Add a passkey",
    words: "new create security key fingerprint",
    for: "user",
  },
  {
    address: "/sign-out",
    name: "Sign out",
    words: "log logout signout leave exit end session",
    for: "user",
    isPost: true,
  },
  {
    address: "/fleet/tokens#new-token",
    name: "Add a runner",
    words: "new create install machine gpu token",
    for: "operator",
  },
  {
    address: "/fleet",
    name: "Drain a runner",
    words: "stop pause resume maintenance shut down machine",
    for: "operator",
  },
  {
    address: "/users#invite",
    name: "Invite a user",
    words: "new add create invitation person account reset password",
    for: "operator",
  },
];
