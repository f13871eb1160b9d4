CREATE TABLE `pools` (
	`name` text PRIMARY KEY NOT NULL,
	`location_hint` text,
	`made_at` integer
);
--> statement-breakpoint
ALTER TABLE `tokens` ADD `priority` text;--> statement-breakpoint
-- Each class has been a pool of its own. SQLite adds no column that may not be null: the tables are made again.
INSERT INTO pools (name, location_hint, made_at) SELECT identifier, location_hint, pool_made_at FROM hardware;--> statement-breakpoint
CREATE TABLE `__new_hardware` (
	`identifier` text PRIMARY KEY NOT NULL,
	`pool` text NOT NULL,
	`name` text NOT NULL,
	`gpus` integer NOT NULL,
	`cpus` integer NOT NULL,
	`ram_per_gpu_gb` real NOT NULL,
	`ram_gb` real NOT NULL,
	`price_per_hour` real,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`pool`) REFERENCES `pools`(`name`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
INSERT INTO `__new_hardware` SELECT identifier, identifier, name, gpus, cpus, ram_per_gpu_gb, ram_gb, price_per_hour, created_at FROM `hardware`;--> statement-breakpoint
DROP TABLE `hardware`;--> statement-breakpoint
ALTER TABLE `__new_hardware` RENAME TO `hardware`;--> statement-breakpoint
CREATE TABLE `__new_runners` (
	`id` text PRIMARY KEY NOT NULL,
	`token_id` text NOT NULL,
	`name` text NOT NULL,
	`hardware` text NOT NULL,
	`pool` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`token_id`) REFERENCES `runner_tokens`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
INSERT INTO `__new_runners` SELECT id, token_id, name, json_array(hardware), hardware, created_at, updated_at FROM `runners`;--> statement-breakpoint
DROP TABLE `runners`;--> statement-breakpoint
ALTER TABLE `__new_runners` RENAME TO `runners`;--> statement-breakpoint
CREATE UNIQUE INDEX `runners_token_name` ON `runners` (`token_id`,`name`);
