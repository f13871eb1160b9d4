CREATE TABLE `members` (
	`organization_id` text NOT NULL,
	`user_id` text NOT NULL,
	`role` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `user_id`),
	FOREIGN KEY (`organization_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `members_user` ON `members` (`user_id`,`organization_id`);--> statement-breakpoint
CREATE TABLE `organization_invitations` (
	`id` text PRIMARY KEY NOT NULL,
	`hash` text NOT NULL,
	`organization_id` text NOT NULL,
	`role` text NOT NULL,
	`note` text NOT NULL,
	`made_by` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`accepted_by` text,
	FOREIGN KEY (`organization_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `organization_invitations_hash_unique` ON `organization_invitations` (`hash`);--> statement-breakpoint
CREATE INDEX `organization_invitations_of` ON `organization_invitations` (`organization_id`,`id`);--> statement-breakpoint
CREATE TABLE `collaborators` (
	`model_id` text NOT NULL,
	`account_id` text NOT NULL,
	`level` text NOT NULL,
	`created_at` integer NOT NULL,
	PRIMARY KEY(`model_id`, `account_id`),
	FOREIGN KEY (`model_id`) REFERENCES `models`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`account_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `collaborators_account` ON `collaborators` (`account_id`,`model_id`);--> statement-breakpoint
ALTER TABLE `tokens` ADD `made_by` text;--> statement-breakpoint
ALTER TABLE `tokens` ADD `service_role` text;--> statement-breakpoint
CREATE INDEX `tokens_maker` ON `tokens` (`made_by`,`user_id`) WHERE made_by IS NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `kind` text DEFAULT 'user' NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `created_by` text;--> statement-breakpoint
CREATE INDEX `users_created_by` ON `users` (`created_by`) WHERE created_by IS NOT NULL;--> statement-breakpoint
ALTER TABLE `uploads` ADD `maker` text DEFAULT '' NOT NULL;