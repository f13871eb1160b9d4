CREATE TABLE `invitations` (
	`id` text PRIMARY KEY NOT NULL,
	`hash` text NOT NULL,
	`note` text NOT NULL,
	`user_id` text,
	`recovers` integer NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`accepted_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `invitations_hash_unique` ON `invitations` (`hash`);--> statement-breakpoint
CREATE TABLE `model_variables` (
	`model_id` text NOT NULL,
	`name` text NOT NULL,
	`sealed` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`model_id`, `name`),
	FOREIGN KEY (`model_id`) REFERENCES `models`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `usage` (
	`user_id` text NOT NULL,
	`day` text NOT NULL,
	`model_id` text NOT NULL,
	`model` text NOT NULL,
	`predictions` integer NOT NULL,
	`failed` integer NOT NULL,
	`execution_seconds` real NOT NULL,
	PRIMARY KEY(`user_id`, `day`, `model_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `credentials` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`account_id` text NOT NULL,
	`provider_id` text NOT NULL,
	`access_token` text,
	`refresh_token` text,
	`id_token` text,
	`access_token_expires_at` integer,
	`refresh_token_expires_at` integer,
	`scope` text,
	`password` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `logins`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `credentials_user` ON `credentials` (`user_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `credentials_account` ON `credentials` (`provider_id`,`account_id`);--> statement-breakpoint
CREATE TABLE `logins` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`email` text NOT NULL,
	`email_verified` integer NOT NULL,
	`image` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `logins_email_unique` ON `logins` (`email`);--> statement-breakpoint
CREATE TABLE `passkeys` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`name` text,
	`public_key` text NOT NULL,
	`credential_id` text NOT NULL,
	`counter` integer NOT NULL,
	`device_type` text NOT NULL,
	`backed_up` integer NOT NULL,
	`transports` text,
	`created_at` integer,
	`aaguid` text,
	FOREIGN KEY (`user_id`) REFERENCES `logins`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `passkeys_user` ON `passkeys` (`user_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `passkeys_credential` ON `passkeys` (`credential_id`);--> statement-breakpoint
CREATE TABLE `sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`token` text NOT NULL,
	`expires_at` integer NOT NULL,
	`ip_address` text,
	`user_agent` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `logins`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `sessions_token_unique` ON `sessions` (`token`);--> statement-breakpoint
CREATE INDEX `sessions_user` ON `sessions` (`user_id`);--> statement-breakpoint
CREATE INDEX `sessions_expires` ON `sessions` (`expires_at`);--> statement-breakpoint
CREATE TABLE `verifications` (
	`id` text PRIMARY KEY NOT NULL,
	`identifier` text NOT NULL,
	`value` text NOT NULL,
	`expires_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `verifications_identifier` ON `verifications` (`identifier`);--> statement-breakpoint
CREATE INDEX `verifications_expires` ON `verifications` (`expires_at`);--> statement-breakpoint
ALTER TABLE `runner_tokens` ADD `last_used_at` integer;--> statement-breakpoint
ALTER TABLE `tokens` ADD `models` text;--> statement-breakpoint
ALTER TABLE `tokens` ADD `last_used_at` integer;--> statement-breakpoint
ALTER TABLE `users` ADD `operator` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `users` ADD `deleted_at` integer;--> statement-breakpoint
CREATE INDEX `predictions_model` ON `predictions` (`user_id`,`model_id`,`id`);--> statement-breakpoint
CREATE TRIGGER predictions_inserted_ended AFTER INSERT ON predictions WHEN NEW.status NOT IN ('pending', 'started') BEGIN
	INSERT INTO usage (user_id, day, model_id, model, predictions, failed, execution_seconds)
		VALUES (NEW.user_id, date(NEW.updated_at / 1000, 'unixepoch'), NEW.model_id, NEW.model_owner || '/' || NEW.model_name, 1, NEW.status = 'failed', coalesce(NEW.execution_time, 0))
		ON CONFLICT (user_id, day, model_id) DO UPDATE SET model = excluded.model, predictions = predictions + 1,
			failed = failed + excluded.failed, execution_seconds = execution_seconds + excluded.execution_seconds;
END;--> statement-breakpoint
CREATE TRIGGER predictions_ended AFTER UPDATE OF status ON predictions WHEN OLD.status IN ('pending', 'started') AND NEW.status NOT IN ('pending', 'started') BEGIN
	INSERT INTO usage (user_id, day, model_id, model, predictions, failed, execution_seconds)
		VALUES (NEW.user_id, date(NEW.updated_at / 1000, 'unixepoch'), NEW.model_id, NEW.model_owner || '/' || NEW.model_name, 1, NEW.status = 'failed', coalesce(NEW.execution_time, 0))
		ON CONFLICT (user_id, day, model_id) DO UPDATE SET model = excluded.model, predictions = predictions + 1,
			failed = failed + excluded.failed, execution_seconds = execution_seconds + excluded.execution_seconds;
END;
