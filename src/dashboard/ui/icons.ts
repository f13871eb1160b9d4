/** The icons of pages, and which of the Heroicons (16 px, solid) each is. Those of statuses are in style/icons.css. */
export const ICONS = {
  audit: "clipboard-document-list",
  deployments: "rocket-launch",
  docs: "book-open",
  done: "check-circle",
  find: "magnifying-glass",
  fleet: "server-stack",
  home: "home",
  models: "cube",
  open: "chevron-up-down",
  predictions: "bolt",
  settings: "cog-6-tooth",
  usage: "chart-bar",
  users: "users",
  webhooks: "bell",
} as const;

export type IconName = keyof typeof ICONS;
