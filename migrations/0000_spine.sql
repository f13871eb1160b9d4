CREATE TABLE `hardware` (
	`identifier` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`gpus` integer NOT NULL,
	`cpus` integer NOT NULL,
	`ram_per_gpu_gb` real NOT NULL,
	`ram_gb` real NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `models` (
	`id` text PRIMARY KEY NOT NULL,
	`owner_id` text NOT NULL,
	`name` text NOT NULL,
	`visibility` text NOT NULL,
	`description` text NOT NULL,
	`overview` text NOT NULL,
	`source_url` text,
	`license_url` text,
	`paper_url` text,
	`hardware_identifier` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `models_owner_name` ON `models` (`owner_id`,`name`);--> statement-breakpoint
CREATE TABLE `predictions` (
	`user_id` text NOT NULL,
	`id` text NOT NULL,
	`object_id` text NOT NULL,
	`model_id` text NOT NULL,
	`model_owner` text NOT NULL,
	`model_name` text NOT NULL,
	`version_number` integer NOT NULL,
	`stream` integer NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`setup_time` real,
	`execution_time` real,
	`error` text,
	`metrics` text,
	`data_removed` integer NOT NULL,
	`revision` integer NOT NULL,
	`checked_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `predictions_status` ON `predictions` (`user_id`,`status`,`id`);--> statement-breakpoint
CREATE INDEX `predictions_active` ON `predictions` (`checked_at`) WHERE status IN ('pending', 'started');--> statement-breakpoint
CREATE TABLE `runner_tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`hash` text NOT NULL,
	`prefix` text NOT NULL,
	`hardware` text NOT NULL,
	`created_at` integer NOT NULL,
	`revoked_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `runner_tokens_hash_unique` ON `runner_tokens` (`hash`);--> statement-breakpoint
CREATE TABLE `runners` (
	`id` text PRIMARY KEY NOT NULL,
	`token_id` text NOT NULL,
	`name` text NOT NULL,
	`hardware` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`token_id`) REFERENCES `runner_tokens`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `runners_token_name` ON `runners` (`token_id`,`name`);--> statement-breakpoint
CREATE TABLE `tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`name` text NOT NULL,
	`hash` text NOT NULL,
	`prefix` text NOT NULL,
	`scopes` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`revoked_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `tokens_hash_unique` ON `tokens` (`hash`);--> statement-breakpoint
CREATE TABLE `users` (
	`id` text PRIMARY KEY NOT NULL,
	`username` text NOT NULL,
	`name` text NOT NULL,
	`avatar_url` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `users_username_unique` ON `users` (`username`);--> statement-breakpoint
CREATE TABLE `versions` (
	`model_id` text NOT NULL,
	`number` integer NOT NULL,
	`release_notes` text NOT NULL,
	`container_image_digest` text NOT NULL,
	`schemas` text NOT NULL,
	`compatibilities` text NOT NULL,
	`configuration` text NOT NULL,
	`size` integer NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`model_id`, `number`),
	FOREIGN KEY (`model_id`) REFERENCES `models`(`id`) ON UPDATE no action ON DELETE no action
);
