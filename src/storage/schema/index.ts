/** The tables of D1. Times are Unix milliseconds. */
export * from "./accounts.ts";
export * from "./alerts.ts";
export * from "./audit.ts";
export * from "./backups.ts";
export * from "./deployments.ts";
export * from "./files.ts";
export * from "./models.ts";
export * from "./registry.ts";
export * from "./runners.ts";
export * from "./shares.ts";
export * from "./sign-in.ts";
export * from "./webhooks.ts";
