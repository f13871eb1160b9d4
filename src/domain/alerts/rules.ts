/** The rules of alerts: what operators are told about, and what to do about it. */

export interface Rule {
  title: string;
  /** The advice, a sentence. */
  todo: string;
  /** The page or the guide that it needs. */
  page: string;
  /** People who are no operators can cause such alerts, with models, webhooks, budgets or tokens of their own. */
  byAccounts?: true;
}

export const RULES = {
  no_runner: {
    title: "No runner takes waiting work",
    todo: "Start a runner for this hardware, or resume one that is drained or paused.",
    page: "/fleet",
  },
  long_wait: {
    title: "Predictions wait too long",
    todo: "See on the Fleet page what they wait for, and add a runner if all are busy.",
    page: "/fleet",
  },
  runner_lost: {
    title: "Runner lost",
    todo: "Check the machine and its network and restart the runner, or remove it if it is gone for good.",
    page: "/docs/runners",
  },
  gpu_lost: {
    title: "GPU lost",
    todo: "Look for the cause with nvidia-smi -q and dmesg | grep Xid on the machine, then reset the GPU or restart the machine.",
    page: "/docs/runners#when-gpus-fail",
  },
  gpu_hot: {
    title: "GPU too hot",
    todo: "Check the fans and the air of the machine, and drain the runner until the GPU is cooler.",
    page: "/fleet",
  },
  disk_full: {
    title: "Disk of a runner nearly full",
    todo: "Free space on the machine: the runner removes only images and weights that it has fetched itself. Otherwise containers fail to start.",
    page: "/docs/runners#disk-space",
  },
  runner_failing: {
    title: "Containers fail to start",
    todo: "Fix the reason on the machine (often a full disk or the driver), then select Resume on the runner's page.",
    page: "/fleet",
  },
  runner_paused: {
    title: "Runner paused",
    todo: "Read the log on the runner's page: it accepted predictions and did not start them.",
    page: "/fleet",
  },
  drain_stuck: {
    title: "Runner drains for an hour",
    todo: "Cancel its predictions if the machine is needed, or wait for them.",
    page: "/fleet",
  },
  model_failing: {
    title: "Many runs of a model fail",
    todo: "Ask its owner to read the errors of its latest predictions and to publish a version that works.",
    page: "/fleet/metrics",
    byAccounts: true,
  },
  endpoint_disabled: {
    title: "Webhook endpoint disabled",
    todo: "Tell its owner to fix the receiver and enable the endpoint again.",
    page: "/docs/webhooks",
    byAccounts: true,
  },
  backup_overdue: {
    title: "Backup overdue",
    todo: "Look for “Backup interrupted” in the Worker's log, and check the bucket of backups.",
    page: "/docs/deploying#back-up-and-restore",
  },
  database_full: {
    title: "Database full, or almost full",
    todo: "Delete unused data, or raise DATABASE_GB (10 GB at most).",
    page: "/docs/deploying",
  },
  history_full: {
    title: "History of an account almost full",
    todo: "Tell its owner, or keep predictions for less time (HISTORY_DAYS): beyond HISTORY_GB, the oldest are deleted.",
    page: "/docs/limits",
    byAccounts: true,
  },
  budget_exhausted: {
    title: "Budget of an account used up",
    todo: "Raise the budget, or leave it: runs that it counts are refused until it resets.",
    page: "/users",
    byAccounts: true,
  },
  token_expiring: {
    title: "Token about to expire",
    todo: "Create a new token, replace the old one where it is used, and revoke it.",
    page: "/tokens",
    byAccounts: true,
  },
} as const satisfies Record<string, Rule>;

export type RuleId = keyof typeof RULES;

export const ruleOf = (id: RuleId): Rule => RULES[id];

/** `bad`: predictions suffer from it. Operators are reminded of these each day. */
export type AlertLevel = "bad" | "warning";

/** A state of the deployment that needs an operator. */
export interface Alert {
  rule: RuleId;
  level: AlertLevel;
  /** The id of what it is about: a runner, a class, a model. Empty: the deployment. */
  subject: string;
  /** The name of the subject. */
  name: string;
  text: string;
}
