CREATE TABLE `account_bytes` (
	`user_id` text PRIMARY KEY NOT NULL,
	`bytes` integer NOT NULL,
	`bytes_before` integer DEFAULT 0 NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `budgeted` (
	`account_id` text NOT NULL,
	`subject` text NOT NULL,
	PRIMARY KEY(`account_id`, `subject`),
	FOREIGN KEY (`account_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `device_logins` (
	`hash` text PRIMARY KEY NOT NULL,
	`user_code` text NOT NULL,
	`name` text NOT NULL,
	`approved` integer,
	`user_id` text,
	`polled_at` integer,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `device_logins_user_code_unique` ON `device_logins` (`user_code`);--> statement-breakpoint
CREATE INDEX `device_logins_expires` ON `device_logins` (`expires_at`);--> statement-breakpoint
CREATE INDEX `device_logins_user` ON `device_logins` (`user_id`) WHERE user_id IS NOT NULL;--> statement-breakpoint
CREATE TABLE `invitations` (
	`id` text PRIMARY KEY NOT NULL,
	`hash` text NOT NULL,
	`note` text NOT NULL,
	`user_id` text,
	`recovers` integer NOT NULL,
	`made_by` text,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`accepted_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `invitations_hash_unique` ON `invitations` (`hash`);--> statement-breakpoint
CREATE INDEX `invitations_user` ON `invitations` (`user_id`);--> statement-breakpoint
CREATE TABLE `members` (
	`organization_id` text NOT NULL,
	`user_id` text NOT NULL,
	`role` text NOT NULL,
	`created_at` integer NOT NULL,
	`lapses_at` integer,
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
CREATE TABLE `released_usernames` (
	`username` text PRIMARY KEY NOT NULL,
	`times` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `sign_up_attempts` (
	`day` text NOT NULL,
	`client` text NOT NULL,
	`attempts` integer NOT NULL,
	PRIMARY KEY(`day`, `client`)
);
--> statement-breakpoint
CREATE TABLE `tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`name` text NOT NULL,
	`hash` text NOT NULL,
	`prefix` text NOT NULL,
	`scopes` text NOT NULL,
	`models` text,
	`priority` text,
	`limits` text,
	`made_by` text,
	`service_role` text,
	`created_at` integer NOT NULL,
	`expires_at` integer,
	`last_used_at` integer,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `tokens_hash_unique` ON `tokens` (`hash`);--> statement-breakpoint
CREATE INDEX `tokens_user` ON `tokens` (`user_id`,`id`);--> statement-breakpoint
CREATE INDEX `tokens_maker` ON `tokens` (`made_by`,`user_id`) WHERE made_by IS NOT NULL;--> statement-breakpoint
CREATE INDEX `tokens_service` ON `tokens` (`expires_at`) WHERE service_role IS NOT NULL;--> statement-breakpoint
CREATE TABLE `usernames` (
	`username` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `usernames_user` ON `usernames` (`user_id`);--> statement-breakpoint
CREATE TABLE `users` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text DEFAULT 'user' NOT NULL,
	`username` text NOT NULL,
	`name` text NOT NULL,
	`avatar_url` text NOT NULL,
	`bio` text DEFAULT '' NOT NULL,
	`urls` text DEFAULT '[]' NOT NULL,
	`location` text DEFAULT '' NOT NULL,
	`company` text DEFAULT '' NOT NULL,
	`operator_since` integer,
	`requires_second_factor` integer DEFAULT false NOT NULL,
	`suspended_at` integer,
	`recovered_at` integer,
	`account_object` text,
	`seq` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`created_by` text,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `users_username_unique` ON `users` (`username`);--> statement-breakpoint
CREATE UNIQUE INDEX `users_seq_unique` ON `users` (`seq`);--> statement-breakpoint
CREATE INDEX `users_operators` ON `users` (`operator_since`,`id`) WHERE operator_since IS NOT NULL;--> statement-breakpoint
CREATE INDEX `users_created_by` ON `users` (`created_by`) WHERE created_by IS NOT NULL;--> statement-breakpoint
CREATE INDEX `users_suspended` ON `users` (`suspended_at`,`id`) WHERE suspended_at IS NOT NULL;--> statement-breakpoint
CREATE TABLE `alerts` (
	`id` text PRIMARY KEY NOT NULL,
	`rule` text NOT NULL,
	`subject` text NOT NULL,
	`name` text NOT NULL,
	`level` text NOT NULL,
	`text` text NOT NULL,
	`since` integer NOT NULL,
	`ended_at` integer,
	`notified_at` integer,
	`end_notified_at` integer,
	`claimed_at` integer,
	`error` text,
	`silenced_until` integer,
	`silenced_by` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `alerts_open` ON `alerts` (`rule`,`subject`) WHERE ended_at IS NULL;--> statement-breakpoint
CREATE INDEX `alerts_ended` ON `alerts` (`ended_at`,`id`);--> statement-breakpoint
CREATE TABLE `audit_chains` (
	`account_id` text PRIMARY KEY NOT NULL,
	`object_id` text NOT NULL,
	`key_id` text NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `audit_entries` (
	`id` text PRIMARY KEY NOT NULL,
	`account_id` text NOT NULL,
	`action` text NOT NULL,
	`actor_type` text NOT NULL,
	`actor_id` text NOT NULL,
	`actor_name` text NOT NULL,
	`targets` text NOT NULL,
	`context` text NOT NULL,
	`changes` text,
	`occurred_at` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `audit_entries_account` ON `audit_entries` (`account_id`,`id`);--> statement-breakpoint
CREATE TABLE `failed_sign_ins` (
	`day` text PRIMARY KEY NOT NULL,
	`count` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `backup_parts` (
	`run_id` text NOT NULL,
	`number` integer NOT NULL,
	`table` text NOT NULL,
	`rows` integer NOT NULL,
	`bytes` integer NOT NULL,
	`sha256` text NOT NULL,
	PRIMARY KEY(`run_id`, `number`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `backup_runs` (
	`id` text PRIMARY KEY NOT NULL,
	`started_at` integer NOT NULL,
	`ended_at` integer,
	`progress` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `capacity_grants` (
	`account_id` text NOT NULL,
	`hardware_identifier` text NOT NULL,
	`instances` integer NOT NULL,
	PRIMARY KEY(`account_id`, `hardware_identifier`),
	FOREIGN KEY (`account_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`hardware_identifier`) REFERENCES `hardware`(`identifier`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `deployments` (
	`id` text PRIMARY KEY NOT NULL,
	`owner_id` text NOT NULL,
	`name` text NOT NULL,
	`created_at` integer NOT NULL,
	`release` integer DEFAULT 0 NOT NULL,
	`next_release` integer,
	`previous_release` integer,
	`previous_until` integer,
	`next_after` integer,
	`start_failures` integer DEFAULT 0 NOT NULL,
	`start_after` integer,
	`start_failure` text,
	`starts` integer DEFAULT 0 NOT NULL,
	`starts_since` integer,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `deployments_owner_name` ON `deployments` (`owner_id`,`name`);--> statement-breakpoint
CREATE INDEX `deployments_owner` ON `deployments` (`owner_id`,`id`);--> statement-breakpoint
CREATE TABLE `releases` (
	`deployment_id` text NOT NULL,
	`number` integer NOT NULL,
	`model_id` text NOT NULL,
	`version_number` integer NOT NULL,
	`hardware_identifier` text NOT NULL,
	`min_instances` integer NOT NULL,
	`max_instances` integer NOT NULL,
	`idle_seconds` real,
	`max_concurrency` integer,
	`priority` text,
	`probe` text,
	`fallbacks` text DEFAULT '[]' NOT NULL,
	`room` text DEFAULT 'beside' NOT NULL,
	`created_at` integer NOT NULL,
	`created_by` text,
	`ended_at` integer,
	`failure` text,
	PRIMARY KEY(`deployment_id`, `number`),
	FOREIGN KEY (`deployment_id`) REFERENCES `deployments`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `releases_hardware` ON `releases` (`hardware_identifier`);--> statement-breakpoint
CREATE INDEX `releases_version` ON `releases` (`model_id`,`version_number`);--> statement-breakpoint
CREATE TABLE `file_bytes` (
	`user_id` text PRIMARY KEY NOT NULL,
	`bytes` integer NOT NULL
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `keys` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `upload_parts` (
	`upload_id` text NOT NULL,
	`part_number` integer NOT NULL,
	`etag` text NOT NULL,
	`utf8_edges` text,
	PRIMARY KEY(`upload_id`, `part_number`),
	FOREIGN KEY (`upload_id`) REFERENCES `uploads`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `uploads` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`prediction_id` text,
	`token_id` text,
	`key` text NOT NULL,
	`multipart_id` text NOT NULL,
	`size` integer NOT NULL,
	`mime_type` text NOT NULL,
	`name` text,
	`part_size` integer NOT NULL,
	`created_at` integer NOT NULL,
	`completed_at` integer,
	`expires_at` integer NOT NULL,
	`removed_at` integer,
	`is_utf8` integer DEFAULT false NOT NULL,
	`details` text,
	`maker` text DEFAULT '' NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `uploads_expires` ON `uploads` (`user_id`,`expires_at`);--> statement-breakpoint
CREATE INDEX `uploads_pending` ON `uploads` (`user_id`) WHERE completed_at IS NULL AND prediction_id IS NULL;--> statement-breakpoint
CREATE INDEX `uploads_prediction` ON `uploads` (`prediction_id`) WHERE prediction_id IS NOT NULL;--> statement-breakpoint
CREATE TABLE `account_counts` (
	`user_id` text NOT NULL,
	`model_id` text NOT NULL,
	`predictions` integer NOT NULL,
	`told_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `model_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `account_counts_told` ON `account_counts` (`told_at`,`user_id`,`model_id`);--> statement-breakpoint
CREATE TABLE `account_usage` (
	`day` text NOT NULL,
	`user_id` text NOT NULL,
	`predictions` integer NOT NULL,
	`failed` integer NOT NULL,
	`execution_ms` integer NOT NULL,
	`setup_ms` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cached_tokens` integer NOT NULL,
	`images` integer NOT NULL,
	`cost` integer NOT NULL,
	`told_at` integer NOT NULL,
	PRIMARY KEY(`day`, `user_id`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `categories` (
	`slug` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
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
CREATE TABLE `examples` (
	`id` text PRIMARY KEY NOT NULL,
	`model_id` text NOT NULL,
	`position` integer NOT NULL,
	`prediction_id` text NOT NULL,
	`version_number` integer NOT NULL,
	`input` text NOT NULL,
	`output` text NOT NULL,
	`execution_seconds` real,
	`created_at` integer NOT NULL,
	`removes_at` integer
);
--> statement-breakpoint
CREATE INDEX `examples_model` ON `examples` (`model_id`,`position`) WHERE removes_at IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `examples_prediction` ON `examples` (`model_id`,`prediction_id`) WHERE removes_at IS NULL;--> statement-breakpoint
CREATE INDEX `examples_removes` ON `examples` (`removes_at`) WHERE removes_at IS NOT NULL;--> statement-breakpoint
CREATE TABLE `listings` (
	`owner_id` text NOT NULL,
	`category_slug` text NOT NULL,
	`model_id` text NOT NULL,
	`predictions_count` integer NOT NULL,
	PRIMARY KEY(`owner_id`, `category_slug`, `model_id`),
	FOREIGN KEY (`model_id`) REFERENCES `models`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `listings_count` ON `listings` (`owner_id`,`category_slug`,`predictions_count`,`model_id`) WHERE predictions_count > 0;--> statement-breakpoint
CREATE INDEX `listings_model` ON `listings` (`model_id`);--> statement-breakpoint
CREATE TABLE `model_categories` (
	`model_id` text NOT NULL,
	`category_slug` text NOT NULL,
	PRIMARY KEY(`model_id`, `category_slug`),
	FOREIGN KEY (`model_id`) REFERENCES `models`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`category_slug`) REFERENCES `categories`(`slug`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `model_categories_slug` ON `model_categories` (`category_slug`);--> statement-breakpoint
CREATE TABLE `model_counts` (
	`model_id` text PRIMARY KEY NOT NULL,
	`predictions_count` integer DEFAULT 0 NOT NULL,
	`listed_count` integer DEFAULT 0 NOT NULL,
	`unlisted` integer DEFAULT false NOT NULL,
	FOREIGN KEY (`model_id`) REFERENCES `models`(`id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `model_counts_unlisted` ON `model_counts` (`model_id`) WHERE unlisted;--> statement-breakpoint
CREATE TABLE `model_variables` (
	`model_id` text NOT NULL,
	`name` text NOT NULL,
	`sealed` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`model_id`, `name`),
	FOREIGN KEY (`model_id`) REFERENCES `models`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `models` (
	`id` text PRIMARY KEY NOT NULL,
	`owner_id` text NOT NULL,
	`name` text NOT NULL,
	`visibility` text NOT NULL,
	`pictures` text DEFAULT '[]' NOT NULL,
	`description` text NOT NULL,
	`overview` text NOT NULL,
	`source_url` text,
	`license_url` text,
	`paper_url` text,
	`cover_image_url` text,
	`hardware_identifier` text,
	`last_version` integer DEFAULT 0 NOT NULL,
	`default_version` integer,
	`seq` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`makes` text,
	`cover_key` text,
	`hidden_at` integer,
	FOREIGN KEY (`owner_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `models_seq_unique` ON `models` (`seq`);--> statement-breakpoint
CREATE UNIQUE INDEX `models_owner_name` ON `models` (`owner_id`,`name`);--> statement-breakpoint
CREATE INDEX `models_owner` ON `models` (`owner_id`,`id`);--> statement-breakpoint
CREATE INDEX `models_hidden` ON `models` (`hidden_at`,`id`) WHERE visibility = 'private';--> statement-breakpoint
CREATE TABLE `version_files` (
	`upload_id` text NOT NULL,
	`model_id` text NOT NULL,
	`version_number` integer NOT NULL,
	PRIMARY KEY(`upload_id`, `model_id`, `version_number`),
	FOREIGN KEY (`upload_id`) REFERENCES `uploads`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`model_id`,`version_number`) REFERENCES `versions`(`model_id`,`number`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `version_files_version` ON `version_files` (`model_id`,`version_number`);--> statement-breakpoint
CREATE TABLE `version_prices` (
	`model_id` text NOT NULL,
	`version_number` integer NOT NULL,
	`set_by` text NOT NULL,
	`starts_at` integer NOT NULL,
	`prices` text,
	PRIMARY KEY(`model_id`, `version_number`, `set_by`, `starts_at`),
	FOREIGN KEY (`model_id`,`version_number`) REFERENCES `versions`(`model_id`,`number`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `versions` (
	`model_id` text NOT NULL,
	`number` integer NOT NULL,
	`release_notes` text NOT NULL,
	`container_image_digest` text NOT NULL,
	`schemas` text NOT NULL,
	`compatibilities` text NOT NULL,
	`configuration` text NOT NULL,
	`repository` text NOT NULL,
	`size` integer NOT NULL,
	`compressed_size` integer,
	`platform` text,
	`awaits` text,
	`own_configuration` text,
	`weights` text DEFAULT '[]' NOT NULL,
	`weight_files` text DEFAULT '[]' NOT NULL,
	`created_at` integer NOT NULL,
	`hash` text,
	PRIMARY KEY(`model_id`, `number`),
	FOREIGN KEY (`model_id`) REFERENCES `models`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `versions_hash` ON `versions` (`hash`) WHERE hash IS NOT NULL;--> statement-breakpoint
CREATE INDEX `versions_image` ON `versions` (`model_id`,`container_image_digest`,`number`);--> statement-breakpoint
CREATE TABLE `registry_blobs` (
	`digest` text PRIMARY KEY NOT NULL,
	`key` text NOT NULL,
	`size` integer NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `registry_blobs_key` ON `registry_blobs` (`key`);--> statement-breakpoint
CREATE TABLE `registry_bytes` (
	`user_id` text PRIMARY KEY NOT NULL,
	`bytes` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `registry_garbage` (
	`key` text PRIMARY KEY NOT NULL,
	`multipart_id` text
);
--> statement-breakpoint
CREATE TABLE `registry_holds` (
	`model_id` text NOT NULL,
	`digest` text NOT NULL,
	`until` integer NOT NULL,
	PRIMARY KEY(`model_id`, `digest`)
);
--> statement-breakpoint
CREATE INDEX `registry_holds_until` ON `registry_holds` (`until`);--> statement-breakpoint
CREATE TABLE `registry_links` (
	`model_id` text NOT NULL,
	`digest` text NOT NULL,
	`user_id` text NOT NULL,
	`size` integer NOT NULL,
	`used_at` integer NOT NULL,
	PRIMARY KEY(`model_id`, `digest`),
	FOREIGN KEY (`digest`) REFERENCES `registry_blobs`(`digest`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `registry_links_owner` ON `registry_links` (`user_id`,`digest`);--> statement-breakpoint
CREATE INDEX `registry_links_digest` ON `registry_links` (`digest`);--> statement-breakpoint
CREATE INDEX `registry_links_used` ON `registry_links` (`used_at`);--> statement-breakpoint
CREATE TABLE `registry_manifests` (
	`model_id` text NOT NULL,
	`digest` text NOT NULL,
	`user_id` text NOT NULL,
	`media_type` text NOT NULL,
	`size` integer NOT NULL,
	`subject` text,
	`artifact_type` text,
	`annotations` text,
	`named` integer NOT NULL,
	`used_at` integer NOT NULL,
	`pushed_at` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`model_id`, `digest`),
	FOREIGN KEY (`digest`) REFERENCES `registry_blobs`(`digest`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `registry_manifests_subject` ON `registry_manifests` (`model_id`,`subject`,`digest`) WHERE subject IS NOT NULL;--> statement-breakpoint
CREATE INDEX `registry_manifests_digest` ON `registry_manifests` (`digest`);--> statement-breakpoint
CREATE INDEX `registry_manifests_used` ON `registry_manifests` (`used_at`);--> statement-breakpoint
CREATE INDEX `registry_manifests_owner` ON `registry_manifests` (`user_id`,`pushed_at`,`model_id`,`digest`);--> statement-breakpoint
CREATE TABLE `registry_references` (
	`model_id` text NOT NULL,
	`manifest` text NOT NULL,
	`digest` text NOT NULL,
	PRIMARY KEY(`model_id`, `manifest`, `digest`)
);
--> statement-breakpoint
CREATE INDEX `registry_references_digest` ON `registry_references` (`model_id`,`digest`);--> statement-breakpoint
CREATE TABLE `registry_released` (
	`model_id` text PRIMARY KEY NOT NULL,
	`after` text DEFAULT '' NOT NULL
);
--> statement-breakpoint
CREATE TABLE `registry_tags` (
	`model_id` text NOT NULL,
	`tag` text NOT NULL,
	`digest` text NOT NULL,
	`user_id` text NOT NULL,
	`updated_at` integer NOT NULL,
	PRIMARY KEY(`model_id`, `tag`)
);
--> statement-breakpoint
CREATE INDEX `registry_tags_digest` ON `registry_tags` (`model_id`,`digest`);--> statement-breakpoint
CREATE TABLE `registry_upload_parts` (
	`upload_id` text NOT NULL,
	`number` integer NOT NULL,
	`etag` text NOT NULL,
	PRIMARY KEY(`upload_id`, `number`),
	FOREIGN KEY (`upload_id`) REFERENCES `registry_uploads`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `registry_uploads` (
	`id` text PRIMARY KEY NOT NULL,
	`model_id` text NOT NULL,
	`user_id` text NOT NULL,
	`key` text NOT NULL,
	`multipart_id` text,
	`parts` integer DEFAULT 0 NOT NULL,
	`rest` integer DEFAULT 0 NOT NULL,
	`rest_key` text,
	`hash` text NOT NULL,
	`holder` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `registry_uploads_owner` ON `registry_uploads` (`user_id`);--> statement-breakpoint
CREATE INDEX `registry_uploads_updated` ON `registry_uploads` (`updated_at`);--> statement-breakpoint
CREATE TABLE `hardware` (
	`identifier` text PRIMARY KEY NOT NULL,
	`pool` text NOT NULL,
	`name` text NOT NULL,
	`gpus` integer NOT NULL,
	`cpus` integer NOT NULL,
	`ram_per_gpu_gb` real NOT NULL,
	`ram_gb` real NOT NULL,
	`price_per_hour` integer,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`pool`) REFERENCES `pools`(`name`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `pools` (
	`name` text PRIMARY KEY NOT NULL,
	`location_hint` text,
	`made_at` integer
);
--> statement-breakpoint
CREATE TABLE `runner_tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`hash` text NOT NULL,
	`prefix` text NOT NULL,
	`hardware` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_used_at` integer,
	`revoked_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `runner_tokens_hash_unique` ON `runner_tokens` (`hash`);--> statement-breakpoint
CREATE INDEX `runner_tokens_revoked` ON `runner_tokens` (`revoked_at`) WHERE revoked_at IS NOT NULL;--> statement-breakpoint
CREATE TABLE `runners` (
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
CREATE UNIQUE INDEX `runners_token_name` ON `runners` (`token_id`,`name`);--> statement-breakpoint
CREATE TABLE `shares` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`prediction_id` text NOT NULL,
	`model` text DEFAULT '' NOT NULL,
	`hash` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `shares_hash_unique` ON `shares` (`hash`);--> statement-breakpoint
CREATE INDEX `shares_user` ON `shares` (`user_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `shares_expired` ON `shares` (`expires_at`);--> statement-breakpoint
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
	`identity` text,
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
	`two_factor_enabled` integer DEFAULT false NOT NULL,
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
	`begun_with` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `logins`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `sessions_token_unique` ON `sessions` (`token`);--> statement-breakpoint
CREATE INDEX `sessions_user` ON `sessions` (`user_id`);--> statement-breakpoint
CREATE INDEX `sessions_expires` ON `sessions` (`expires_at`);--> statement-breakpoint
CREATE TABLE `two_factors` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`secret` text NOT NULL,
	`backup_codes` text NOT NULL,
	`verified` integer NOT NULL,
	`failed_verification_count` integer DEFAULT 0 NOT NULL,
	`locked_until` integer,
	FOREIGN KEY (`user_id`) REFERENCES `logins`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `two_factors_user` ON `two_factors` (`user_id`);--> statement-breakpoint
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
CREATE TABLE `webhook_endpoints` (
	`id` text PRIMARY KEY NOT NULL,
	`user_id` text NOT NULL,
	`url` text NOT NULL,
	`description` text NOT NULL,
	`events` text NOT NULL,
	`secrets` text NOT NULL,
	`enabled` integer NOT NULL,
	`failing_since` integer,
	`last_error` text,
	`notice` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `webhook_endpoints_user` ON `webhook_endpoints` (`user_id`,`id`);--> statement-breakpoint
CREATE INDEX `webhook_endpoints_disabled` ON `webhook_endpoints` (`updated_at`) WHERE notice IS NOT NULL;--> statement-breakpoint
-- Written by hand from here on (and WITHOUT ROWID above).

-- Seeds. The keys sign page cursors and file addresses.
INSERT INTO keys (name, value) VALUES ('cursor', hex(randomblob(64))), ('addresses', hex(randomblob(32)));
--> statement-breakpoint
INSERT INTO pools (name) VALUES ('cpu');
--> statement-breakpoint
INSERT INTO hardware (identifier, pool, name, gpus, cpus, ram_per_gpu_gb, ram_gb, created_at)
	VALUES ('cpu', 'cpu', 'CPU', 0, 1, 0, 0, unixepoch() * 1000);
--> statement-breakpoint
INSERT INTO categories (slug, name, description, created_at)
	SELECT value ->> 0, value ->> 1, value ->> 2, unixepoch() * 1000 FROM json_each('[
		["text-generation", "Text generation", "Write, continue, translate and summarise text"],
		["chat", "Chat", "Hold a conversation, with tools and instructions"],
		["code", "Code", "Write, complete and explain programs"],
		["embeddings", "Embeddings", "Turn text, images or sound into vectors for search and comparison"],
		["reranking", "Reranking", "Order search results by how well they answer a question"],
		["vision", "Vision", "Describe images and answer questions about them"],
		["image-generation", "Image generation", "Make images from words or from other images"],
		["image-editing", "Image editing", "Restore, upscale, inpaint and restyle images"],
		["image-segmentation", "Detection and segmentation", "Find, outline and classify what is in an image"],
		["ocr", "Documents and OCR", "Read text and layout from scans and pages"],
		["video-generation", "Video generation", "Make videos from words, images or other videos"],
		["speech-to-text", "Speech to text", "Transcribe and translate speech"],
		["text-to-speech", "Text to speech", "Read text aloud, also in a given voice"],
		["music", "Music and sound", "Make, separate and analyse music and sound"],
		["3d", "3D", "Make shapes, scenes and depth from words and images"],
		["time-series", "Time series and tables", "Forecast and classify measurements and tabular data"],
		["science", "Science", "Proteins, molecules, materials, weather"],
		["utilities", "Utilities", "Small tools that other models are used with"]
	]');
--> statement-breakpoint
-- Usernames: every name a user has had stays reserved for them.
-- A restore inserts users that were deleted, too, and rows with a seq and a last version of their own.
CREATE TRIGGER usernames_taken AFTER INSERT ON users WHEN NEW.deleted_at IS NULL BEGIN
	INSERT INTO usernames (username, user_id) VALUES (NEW.username, NEW.id);
END;
--> statement-breakpoint
CREATE TRIGGER usernames_changed AFTER UPDATE OF username ON users WHEN NEW.username <> OLD.username BEGIN
	SELECT RAISE(ABORT, 'UNIQUE constraint failed: usernames.username')
		WHERE EXISTS (SELECT 1 FROM usernames WHERE username = NEW.username AND user_id <> NEW.id);
	INSERT OR IGNORE INTO usernames (username, user_id) VALUES (NEW.username, NEW.id);
END;
--> statement-breakpoint
-- Models: prediction counts, version numbers, listings, and what is deleted with a model.
CREATE TRIGGER account_counts_added AFTER INSERT ON account_counts BEGIN
	UPDATE model_counts SET predictions_count = predictions_count + NEW.predictions, unlisted = true WHERE model_id = NEW.model_id;
END;
--> statement-breakpoint
CREATE TRIGGER account_counts_risen AFTER UPDATE OF predictions ON account_counts BEGIN
	UPDATE model_counts SET predictions_count = predictions_count + NEW.predictions - OLD.predictions, unlisted = true WHERE model_id = NEW.model_id;
END;
--> statement-breakpoint
CREATE TRIGGER versions_numbered AFTER INSERT ON versions BEGIN
	UPDATE models SET last_version = max(last_version, NEW.number) WHERE id = NEW.model_id;
END;
--> statement-breakpoint
CREATE TRIGGER models_created AFTER INSERT ON models BEGIN
	INSERT INTO model_counts (model_id) VALUES (NEW.id);
	INSERT INTO listings (owner_id, category_slug, model_id, predictions_count)
		SELECT value, '', NEW.id, 0 FROM json_each(json_array('', NEW.owner_id)) WHERE NEW.visibility <> 'private';
END;
--> statement-breakpoint
CREATE TRIGGER models_shown AFTER UPDATE OF visibility ON models WHEN OLD.visibility = 'private' AND NEW.visibility <> 'private' BEGIN
	INSERT INTO listings (owner_id, category_slug, model_id, predictions_count)
		SELECT owners.value, slugs.slug, NEW.id, listed_count FROM model_counts
		JOIN json_each(json_array('', NEW.owner_id)) AS owners
		JOIN (SELECT '' AS slug UNION ALL SELECT category_slug FROM model_categories WHERE model_id = NEW.id) AS slugs
		WHERE model_id = NEW.id;
END;
--> statement-breakpoint
CREATE TRIGGER models_hidden AFTER UPDATE OF visibility ON models WHEN OLD.visibility <> 'private' AND NEW.visibility = 'private' BEGIN
	DELETE FROM listings WHERE model_id = NEW.id;
	UPDATE models SET hidden_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE id = NEW.id;
END;
--> statement-breakpoint
CREATE TRIGGER model_categories_added AFTER INSERT ON model_categories BEGIN
	INSERT INTO listings (owner_id, category_slug, model_id, predictions_count)
		SELECT owners.value, NEW.category_slug, models.id, listed_count FROM models
		JOIN model_counts ON model_counts.model_id = models.id
		JOIN json_each(json_array('', owner_id)) AS owners
		WHERE models.id = NEW.model_id AND visibility <> 'private';
END;
--> statement-breakpoint
CREATE TRIGGER model_categories_removed AFTER DELETE ON model_categories BEGIN
	DELETE FROM listings WHERE model_id = OLD.model_id AND category_slug = OLD.category_slug;
END;
--> statement-breakpoint
CREATE TRIGGER models_deleted BEFORE DELETE ON models BEGIN
	DELETE FROM versions WHERE model_id = OLD.id;
END;
--> statement-breakpoint
-- Variables go before their model does, so that model_variables_unweighed can still find its owner.
CREATE TRIGGER models_emptied BEFORE DELETE ON models BEGIN
	DELETE FROM model_variables WHERE model_id = OLD.id;
END;
--> statement-breakpoint
-- Storage of an account. A row weighs what it takes with its indexes, as measured with random texts: a
-- searchable character takes some 30 bytes beyond its own. A part of a pending upload is counted in
-- advance. Versions and variables are selected by their model: if it was deleted meanwhile, the foreign
-- key refuses the row, and not a missing owner.
CREATE TRIGGER models_weighed AFTER INSERT ON models BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.owner_id, 4096 + 32 * length(CAST(NEW.description AS BLOB)) + length(CAST(NEW.overview AS BLOB)) + 24 * length(CAST(substr(NEW.overview, 1, 4000) AS BLOB)) + length(coalesce(NEW.source_url, '') || coalesce(NEW.license_url, '') || coalesce(NEW.paper_url, '') || coalesce(NEW.cover_image_url, '')))
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER models_weighed_again AFTER UPDATE OF description, overview, source_url, license_url, paper_url, cover_image_url ON models BEGIN
	UPDATE account_bytes SET bytes = bytes + (4096 + 32 * length(CAST(NEW.description AS BLOB)) + length(CAST(NEW.overview AS BLOB)) + 24 * length(CAST(substr(NEW.overview, 1, 4000) AS BLOB)) + length(coalesce(NEW.source_url, '') || coalesce(NEW.license_url, '') || coalesce(NEW.paper_url, '') || coalesce(NEW.cover_image_url, ''))) - (4096 + 32 * length(CAST(OLD.description AS BLOB)) + length(CAST(OLD.overview AS BLOB)) + 24 * length(CAST(substr(OLD.overview, 1, 4000) AS BLOB)) + length(coalesce(OLD.source_url, '') || coalesce(OLD.license_url, '') || coalesce(OLD.paper_url, '') || coalesce(OLD.cover_image_url, '')))
		WHERE user_id = NEW.owner_id;
END;
--> statement-breakpoint
CREATE TRIGGER models_unweighed AFTER DELETE ON models BEGIN
	UPDATE account_bytes SET bytes = bytes - (4096 + 32 * length(CAST(OLD.description AS BLOB)) + length(CAST(OLD.overview AS BLOB)) + 24 * length(CAST(substr(OLD.overview, 1, 4000) AS BLOB)) + length(coalesce(OLD.source_url, '') || coalesce(OLD.license_url, '') || coalesce(OLD.paper_url, '') || coalesce(OLD.cover_image_url, '')))
		WHERE user_id = OLD.owner_id;
END;
--> statement-breakpoint
CREATE TRIGGER versions_weighed AFTER INSERT ON versions BEGIN
	INSERT INTO account_bytes (user_id, bytes) SELECT owner_id, 512 + length(CAST(NEW.release_notes AS BLOB)) + length(CAST(NEW.schemas AS BLOB)) + length(CAST(NEW.configuration AS BLOB))
		FROM models WHERE id = NEW.model_id
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER versions_unweighed AFTER DELETE ON versions BEGIN
	UPDATE account_bytes SET bytes = bytes - (512 + length(CAST(OLD.release_notes AS BLOB)) + length(CAST(OLD.schemas AS BLOB)) + length(CAST(OLD.configuration AS BLOB)))
		WHERE user_id = (SELECT owner_id FROM models WHERE id = OLD.model_id);
END;
--> statement-breakpoint
CREATE TRIGGER version_prices_weighed AFTER INSERT ON version_prices WHEN NEW.set_by = 'owner' BEGIN
	INSERT INTO account_bytes (user_id, bytes) SELECT owner_id, 512 FROM models WHERE id = NEW.model_id
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER version_prices_unweighed AFTER DELETE ON version_prices WHEN OLD.set_by = 'owner' BEGIN
	UPDATE account_bytes SET bytes = bytes - 512
		WHERE user_id = (SELECT owner_id FROM models WHERE id = OLD.model_id);
END;
--> statement-breakpoint
CREATE TRIGGER model_variables_weighed AFTER INSERT ON model_variables BEGIN
	INSERT INTO account_bytes (user_id, bytes) SELECT owner_id, 256 + length(NEW.sealed)
		FROM models WHERE id = NEW.model_id
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER model_variables_weighed_again AFTER UPDATE OF sealed ON model_variables BEGIN
	UPDATE account_bytes SET bytes = bytes + (256 + length(NEW.sealed)) - (256 + length(OLD.sealed))
		WHERE user_id = (SELECT owner_id FROM models WHERE id = NEW.model_id);
END;
--> statement-breakpoint
CREATE TRIGGER model_variables_unweighed AFTER DELETE ON model_variables BEGIN
	UPDATE account_bytes SET bytes = bytes - (256 + length(OLD.sealed))
		WHERE user_id = (SELECT owner_id FROM models WHERE id = OLD.model_id);
END;
--> statement-breakpoint
CREATE TRIGGER tokens_weighed AFTER INSERT ON tokens BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 512 + length(CAST(NEW.name AS BLOB)) + length(coalesce(NEW.models, '')) + length(coalesce(NEW.limits, '')))
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER tokens_weighed_again AFTER UPDATE OF limits ON tokens BEGIN
	UPDATE account_bytes SET bytes = bytes + length(coalesce(NEW.limits, '')) - length(coalesce(OLD.limits, ''))
		WHERE user_id = NEW.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER tokens_unweighed AFTER DELETE ON tokens BEGIN
	UPDATE account_bytes SET bytes = bytes - (512 + length(CAST(OLD.name AS BLOB)) + length(coalesce(OLD.models, '')) + length(coalesce(OLD.limits, '')))
		WHERE user_id = OLD.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER uploads_weighed AFTER INSERT ON uploads BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 512 + length(CAST(coalesce(NEW.name, '') AS BLOB)) + iif(NEW.completed_at IS NULL, 128 * (NEW.size / NEW.part_size + 1), 0))
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER uploads_weighed_again AFTER UPDATE OF completed_at ON uploads BEGIN
	UPDATE account_bytes SET bytes = bytes + (512 + length(CAST(coalesce(NEW.name, '') AS BLOB)) + iif(NEW.completed_at IS NULL, 128 * (NEW.size / NEW.part_size + 1), 0)) - (512 + length(CAST(coalesce(OLD.name, '') AS BLOB)) + iif(OLD.completed_at IS NULL, 128 * (OLD.size / OLD.part_size + 1), 0))
		WHERE user_id = NEW.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER uploads_unweighed AFTER DELETE ON uploads BEGIN
	UPDATE account_bytes SET bytes = bytes - (512 + length(CAST(coalesce(OLD.name, '') AS BLOB)) + iif(OLD.completed_at IS NULL, 128 * (OLD.size / OLD.part_size + 1), 0))
		WHERE user_id = OLD.user_id;
END;
--> statement-breakpoint
-- Search. A word matches by its prefix, or by a word spelled similarly. Results are read from the index
-- in the order of their rank.
--
-- A model has five documents, one for each tier of its rank: exact name, name, owner, description,
-- overview. `fresh` is the text that a tier adds, `seen` the text of all tiers above it. A query matches
-- documents where the words are not all in `seen`, so that each model is found once, in its best tier.
-- The rowid is the rank: tier << 40 minus seq, so tier by tier, and the newest first within each.
-- Marks are private-use characters, which no search word contains: U+E000 public, U+E001 visible to its
-- owner only, U+E002 an exact name, U+E003 a tier.
-- detail=column: positions of words are not stored. Only the first 4,000 characters of an overview are
-- indexed: 100,000 take 0.15 s to write, and renaming a user with 60 such models takes 10 s.
-- prefix: a prefix length without an index of its own reads everything that it matches.
CREATE VIRTUAL TABLE models_words USING fts5 (seen, fresh, marks, content='', contentless_delete=1, detail=column,
	tokenize='unicode61 remove_diacritics 2', prefix='1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16');
--> statement-breakpoint
CREATE VIRTUAL TABLE users_words USING fts5 (seen, fresh, marks, content='', contentless_delete=1, detail=column,
	tokenize='unicode61 remove_diacritics 2', prefix='1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16');
--> statement-breakpoint
CREATE VIEW models_documents AS
WITH parts AS (
	SELECT models.id, owner_id, seq, models.name, description, substr(overview, 1, 4000) AS overview,
		(SELECT username FROM users WHERE users.id = owner_id) AS username,
		CASE visibility WHEN 'private' THEN char(0xE001) || replace(owner_id, '-', '') ELSE char(0xE000) END || ' ' || char(0xE003) AS marks
	FROM models
), named AS (
	SELECT *, char(0xE002) || hex(username || '/' || name) AS path, char(0xE002) || hex(name) AS exact FROM parts
)
SELECT id, owner_id, -seq AS rank, '' AS seen, exact || ' ' || path AS fresh, marks || 0 AS marks FROM named
UNION ALL SELECT id, owner_id, (1 << 40) - seq, exact || ' ' || path, name, marks || 1 FROM named
UNION ALL SELECT id, owner_id, (2 << 40) - seq, path || ' ' || name, username, marks || 2 FROM named
UNION ALL SELECT id, owner_id, (3 << 40) - seq, name || ' ' || username, description, marks || 3 FROM named
UNION ALL SELECT id, owner_id, (4 << 40) - seq, name || ' ' || username || ' ' || description, overview, marks || 4 FROM named;
--> statement-breakpoint
CREATE VIEW users_documents AS
SELECT id, -seq AS rank, '' AS seen, char(0xE002) || hex(username) AS fresh, char(0xE003) || 0 AS marks FROM users
UNION ALL SELECT id, (1 << 40) - seq, char(0xE002) || hex(username), username, char(0xE003) || 1 FROM users
UNION ALL SELECT id, (2 << 40) - seq, username, name, char(0xE003) || 2 FROM users
UNION ALL SELECT id, (3 << 40) - seq, username || ' ' || name, company, char(0xE003) || 3 FROM users;
--> statement-breakpoint
-- The vocabulary for correcting typing errors, looked up by trigrams. (Trigrams of the overviews
-- themselves would take many times the space, and be slow: all of them contain "ing".) `uses` counts the
-- models and users that contain a word, and a word is removed with the last of them. Words of private models
-- belong to their owner. A word's id is the owner's seq << 40 plus a number, with 0 for everybody, so
-- that a query reads only its own range of ids.
CREATE TABLE words (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, word TEXT NOT NULL, uses INTEGER NOT NULL, UNIQUE (owner, word));
--> statement-breakpoint
CREATE VIRTUAL TABLE words_trigrams USING fts5 (word, content='words', content_rowid='id', tokenize='trigram remove_diacritics 1');
--> statement-breakpoint
CREATE TRIGGER words_added AFTER INSERT ON words BEGIN
	INSERT INTO words_trigrams (rowid, word) VALUES (NEW.id, NEW.word);
END;
--> statement-breakpoint
CREATE TRIGGER words_removed AFTER DELETE ON words BEGIN
	INSERT INTO words_trigrams (words_trigrams, rowid, word) VALUES ('delete', OLD.id, OLD.word);
END;
--> statement-breakpoint
-- A text inserted into `reading` is split into words by the index's own tokenizer, and `uses` is added
-- to the count of each: 1 for a text that was added, -1 for one that was removed.
CREATE VIRTUAL TABLE reading_index USING fts5 (text, content='', detail=none, tokenize='unicode61 remove_diacritics 2');
--> statement-breakpoint
CREATE VIRTUAL TABLE reading_words USING fts5vocab ('reading_index', 'row');
--> statement-breakpoint
CREATE VIEW reading AS SELECT '' AS text, 0 AS owner, 0 AS uses;
--> statement-breakpoint
CREATE VIEW users_texts AS SELECT id, username || ' ' || name || ' ' || company AS text, 0 AS owner FROM users;
--> statement-breakpoint
CREATE TRIGGER users_renamed AFTER UPDATE OF username ON users WHEN NEW.username <> OLD.username BEGIN
	DELETE FROM models_words WHERE rowid IN (SELECT rank FROM models_documents WHERE owner_id = NEW.id);
	INSERT INTO models_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM models_documents WHERE owner_id = NEW.id;
END;
--> statement-breakpoint
CREATE TRIGGER users_indexed AFTER INSERT ON users WHEN NEW.deleted_at IS NULL BEGIN
	UPDATE users SET seq = (SELECT coalesce(max(seq), 0) + 1 FROM users) WHERE id = NEW.id AND seq IS NULL;
	INSERT INTO users_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM users_documents WHERE id = NEW.id;
	INSERT INTO reading (text, owner, uses) SELECT text, owner, 1 FROM users_texts WHERE id = NEW.id;
END;
--> statement-breakpoint
CREATE TRIGGER users_unindexed BEFORE DELETE ON users BEGIN
	DELETE FROM users_words WHERE rowid IN (SELECT rank FROM users_documents WHERE id = OLD.id);
	INSERT INTO reading (text, owner, uses) SELECT text, owner, -1 FROM users_texts WHERE id = OLD.id;
END;
--> statement-breakpoint
CREATE TRIGGER models_indexed AFTER INSERT ON models BEGIN
	UPDATE models SET seq = (SELECT coalesce(max(seq), 0) + 1 FROM models) WHERE id = NEW.id AND seq IS NULL;
	INSERT INTO models_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM models_documents WHERE id = NEW.id;
	INSERT INTO reading (text, owner, uses) SELECT text, owner, 1 FROM models_texts WHERE id = NEW.id;
END;
--> statement-breakpoint
CREATE TRIGGER models_unindexed BEFORE DELETE ON models BEGIN
	DELETE FROM models_words WHERE rowid IN (SELECT rank FROM models_documents WHERE id = OLD.id);
	INSERT INTO reading (text, owner, uses) SELECT text, owner, -1 FROM models_texts WHERE id = OLD.id;
END;
--> statement-breakpoint
-- A blob goes with the last repository that has it; its object in R2 is then garbage.
-- Bytes of images: a blob counts once per account, however many of its models have it. Rows weigh in the
-- account's database space as everything else does, with their indexes.
CREATE TRIGGER registry_links_added AFTER INSERT ON registry_links BEGIN
	INSERT INTO registry_bytes (user_id, bytes)
		SELECT NEW.user_id, iif(EXISTS (SELECT 1 FROM registry_links WHERE user_id = NEW.user_id AND digest = NEW.digest AND model_id <> NEW.model_id), 0, NEW.size) WHERE true
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 512)
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER registry_links_removed AFTER DELETE ON registry_links BEGIN
	UPDATE registry_bytes SET bytes = bytes - OLD.size WHERE user_id = OLD.user_id
		AND NOT EXISTS (SELECT 1 FROM registry_links WHERE user_id = OLD.user_id AND digest = OLD.digest);
	UPDATE account_bytes SET bytes = bytes - 512 WHERE user_id = OLD.user_id;
	INSERT OR IGNORE INTO registry_garbage (key) SELECT key FROM registry_blobs WHERE digest = OLD.digest
		AND NOT EXISTS (SELECT 1 FROM registry_links WHERE digest = OLD.digest)
		AND NOT EXISTS (SELECT 1 FROM registry_manifests WHERE digest = OLD.digest);
	DELETE FROM registry_blobs WHERE digest = OLD.digest
		AND NOT EXISTS (SELECT 1 FROM registry_links WHERE digest = OLD.digest)
		AND NOT EXISTS (SELECT 1 FROM registry_manifests WHERE digest = OLD.digest);
END;
--> statement-breakpoint
CREATE TRIGGER registry_manifests_added AFTER INSERT ON registry_manifests BEGIN
	INSERT INTO registry_bytes (user_id, bytes) VALUES (NEW.user_id, NEW.size)
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 1024 + 512 * NEW.named + length(CAST(coalesce(NEW.annotations, '') AS BLOB)))
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER registry_manifests_removed AFTER DELETE ON registry_manifests BEGIN
	UPDATE registry_bytes SET bytes = bytes - OLD.size WHERE user_id = OLD.user_id;
	UPDATE account_bytes SET bytes = bytes - (1024 + 512 * OLD.named + length(CAST(coalesce(OLD.annotations, '') AS BLOB))) WHERE user_id = OLD.user_id;
	DELETE FROM registry_references WHERE model_id = OLD.model_id AND manifest = OLD.digest;
	DELETE FROM registry_tags WHERE model_id = OLD.model_id AND digest = OLD.digest;
	INSERT OR IGNORE INTO registry_garbage (key) SELECT key FROM registry_blobs WHERE digest = OLD.digest
		AND NOT EXISTS (SELECT 1 FROM registry_links WHERE digest = OLD.digest)
		AND NOT EXISTS (SELECT 1 FROM registry_manifests WHERE digest = OLD.digest);
	DELETE FROM registry_blobs WHERE digest = OLD.digest
		AND NOT EXISTS (SELECT 1 FROM registry_links WHERE digest = OLD.digest)
		AND NOT EXISTS (SELECT 1 FROM registry_manifests WHERE digest = OLD.digest);
END;
--> statement-breakpoint
CREATE TRIGGER registry_tags_added AFTER INSERT ON registry_tags BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 512)
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER registry_tags_removed AFTER DELETE ON registry_tags BEGIN
	UPDATE account_bytes SET bytes = bytes - 512 WHERE user_id = OLD.user_id;
END;
--> statement-breakpoint
CREATE TRIGGER registry_uploads_added AFTER INSERT ON registry_uploads BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 1024)
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER registry_uploads_removed AFTER DELETE ON registry_uploads BEGIN
	UPDATE account_bytes SET bytes = bytes - 1024 WHERE user_id = OLD.user_id;
END;
--> statement-breakpoint
-- Predictions that were accepted run to their end, for four days at most: the image of a deleted version stays
-- for so long. A model's versions are deleted with it (models_deleted).
CREATE TRIGGER versions_held AFTER DELETE ON versions
	WHEN EXISTS (SELECT 1 FROM registry_manifests WHERE model_id = OLD.model_id AND digest = OLD.container_image_digest) BEGIN
	INSERT INTO registry_holds (model_id, digest, until)
		VALUES (OLD.model_id, OLD.container_image_digest, CAST(unixepoch('subsec') * 1000 AS INTEGER) + 345600000)
		ON CONFLICT (model_id, digest) DO UPDATE SET until = excluded.until;
END;
--> statement-breakpoint
-- A version that its first start completes weighs what it then has.
CREATE TRIGGER versions_weighed_again AFTER UPDATE OF schemas ON versions BEGIN
	UPDATE account_bytes SET bytes = bytes + length(CAST(NEW.schemas AS BLOB)) - length(CAST(OLD.schemas AS BLOB))
		WHERE user_id = (SELECT owner_id FROM models WHERE id = NEW.model_id);
END;
--> statement-breakpoint
-- An upload may be missing where a backup is restored: its version stays.
CREATE TRIGGER versions_named AFTER INSERT ON versions WHEN NEW.weight_files <> '[]' BEGIN
	INSERT OR IGNORE INTO version_files (upload_id, model_id, version_number)
		SELECT uploads.id, NEW.model_id, NEW.number FROM json_each(NEW.weight_files) AS named
		JOIN uploads ON uploads.id = named.value ->> 'id';
END;
--> statement-breakpoint
-- Beside versions_weighed and versions_unweighed.
CREATE TRIGGER versions_weights_weighed AFTER INSERT ON versions WHEN NEW.weights <> '[]' OR NEW.weight_files <> '[]' BEGIN
	INSERT INTO account_bytes (user_id, bytes) SELECT owner_id, length(CAST(NEW.weights AS BLOB)) + length(CAST(NEW.weight_files AS BLOB))
		FROM models WHERE id = NEW.model_id
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER versions_weights_unweighed AFTER DELETE ON versions WHEN OLD.weights <> '[]' OR OLD.weight_files <> '[]' BEGIN
	UPDATE account_bytes SET bytes = bytes - (length(CAST(OLD.weights AS BLOB)) + length(CAST(OLD.weight_files AS BLOB)))
		WHERE user_id = (SELECT owner_id FROM models WHERE id = OLD.model_id);
END;
--> statement-breakpoint
-- A model may have millions of tags: they go in steps, and not in the statement that deletes it.
CREATE TRIGGER models_released AFTER DELETE ON models
	WHEN EXISTS (SELECT 1 FROM registry_links WHERE model_id = OLD.id)
		OR EXISTS (SELECT 1 FROM registry_manifests WHERE model_id = OLD.id) BEGIN
	INSERT OR IGNORE INTO registry_released (model_id) VALUES (OLD.id);
END;
--> statement-breakpoint
-- What a model makes is a list like a category. At an insert, which a restore makes, nothing is counted yet.
CREATE TRIGGER models_made AFTER INSERT ON models WHEN NEW.makes IS NOT NULL AND NEW.visibility <> 'private' BEGIN
	INSERT INTO listings (owner_id, category_slug, model_id, predictions_count)
		SELECT value, 'makes:' || NEW.makes, NEW.id, 0 FROM json_each(json_array('', NEW.owner_id));
END;
--> statement-breakpoint
CREATE TRIGGER models_made_other AFTER UPDATE OF makes ON models WHEN OLD.makes IS NOT NEW.makes AND NEW.visibility <> 'private' BEGIN
	DELETE FROM listings WHERE model_id = NEW.id AND category_slug = 'makes:' || OLD.makes;
	INSERT INTO listings (owner_id, category_slug, model_id, predictions_count)
		SELECT owners.value, 'makes:' || NEW.makes, NEW.id, listed_count FROM model_counts
		JOIN json_each(json_array('', NEW.owner_id)) AS owners
		WHERE model_id = NEW.id AND NEW.makes IS NOT NULL;
END;
--> statement-breakpoint
CREATE TRIGGER models_made_shown AFTER UPDATE OF visibility ON models WHEN OLD.visibility = 'private' AND NEW.visibility <> 'private' AND NEW.makes IS NOT NULL BEGIN
	INSERT INTO listings (owner_id, category_slug, model_id, predictions_count)
		SELECT owners.value, 'makes:' || NEW.makes, NEW.id, listed_count FROM model_counts
		JOIN json_each(json_array('', NEW.owner_id)) AS owners
		WHERE model_id = NEW.id;
END;
--> statement-breakpoint
-- Examples are counted while they are shown, by what their input and output take.
CREATE TRIGGER examples_weighed AFTER INSERT ON examples WHEN NEW.removes_at IS NULL BEGIN
	INSERT INTO account_bytes (user_id, bytes) SELECT owner_id, 512 + length(CAST(NEW.input AS BLOB)) + length(CAST(NEW.output AS BLOB))
		FROM models WHERE id = NEW.model_id
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER examples_weighed_again AFTER UPDATE OF removes_at ON examples WHEN OLD.removes_at IS NOT NULL AND NEW.removes_at IS NULL BEGIN
	INSERT INTO account_bytes (user_id, bytes) SELECT owner_id, 512 + length(CAST(NEW.input AS BLOB)) + length(CAST(NEW.output AS BLOB))
		FROM models WHERE id = NEW.model_id
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER examples_unweighed AFTER UPDATE OF removes_at ON examples WHEN OLD.removes_at IS NULL AND NEW.removes_at IS NOT NULL BEGIN
	UPDATE account_bytes SET bytes = bytes - (512 + length(CAST(OLD.input AS BLOB)) + length(CAST(OLD.output AS BLOB)))
		WHERE user_id = (SELECT owner_id FROM models WHERE id = OLD.model_id);
END;
--> statement-breakpoint
-- The sweep removes their files, and then the row.
CREATE TRIGGER models_examples BEFORE DELETE ON models BEGIN
	UPDATE examples SET removes_at = 0, input = '{}', output = 'null' WHERE model_id = OLD.id AND removes_at IS NULL;
END;
--> statement-breakpoint
-- A model gives the vocabulary the words of its first 1,000 characters: each word is three rows and more, and an
-- overview of 4,000 characters wrote 4,933. A change writes only the words that it adds or removes.
CREATE VIEW models_texts AS
SELECT id, owner_id, substr(name || ' ' || description || ' ' || overview, 1, 1000) AS text,
	CASE visibility WHEN 'private' THEN (SELECT seq FROM users WHERE users.id = owner_id) ELSE 0 END AS owner FROM models;
--> statement-breakpoint
CREATE TRIGGER reading_done INSTEAD OF INSERT ON reading BEGIN
	INSERT INTO reading_index (text) VALUES (NEW.text);
	INSERT INTO words (id, owner, word, uses)
		SELECT coalesce((SELECT max(id) FROM words WHERE id BETWEEN NEW.owner << 40 AND (NEW.owner + 1 << 40) - 1), NEW.owner << 40)
			+ row_number() OVER (), NEW.owner, term, NEW.uses
		FROM reading_words WHERE length(term) BETWEEN 3 AND 32
		ON CONFLICT (owner, word) DO UPDATE SET uses = uses + excluded.uses;
	DELETE FROM words WHERE owner = NEW.owner AND uses <= 0 AND word IN (SELECT term FROM reading_words);
	INSERT INTO reading_index (reading_index) VALUES ('delete-all');
END;
--> statement-breakpoint
-- The new text is read before the old one: a word of both is then neither removed nor added.
CREATE TRIGGER users_reindexed AFTER UPDATE OF username, name, company ON users
	WHEN (NEW.username, NEW.name, NEW.company) <> (OLD.username, OLD.name, OLD.company) BEGIN
	DELETE FROM users_words WHERE rowid IN (SELECT rank FROM users_documents WHERE id = NEW.id);
	INSERT INTO users_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM users_documents WHERE id = NEW.id;
	INSERT INTO reading (text, owner, uses) SELECT text, owner, 1 FROM users_texts WHERE id = NEW.id;
	INSERT INTO reading (text, owner, uses) VALUES (OLD.username || ' ' || OLD.name || ' ' || OLD.company, 0, -1);
END;
--> statement-breakpoint
CREATE TRIGGER models_reindexed AFTER UPDATE OF name, description, overview, visibility ON models
	WHEN (NEW.name, NEW.description, NEW.overview, NEW.visibility) <> (OLD.name, OLD.description, OLD.overview, OLD.visibility) BEGIN
	DELETE FROM models_words WHERE rowid IN (SELECT rank FROM models_documents WHERE id = NEW.id);
	INSERT INTO models_words (rowid, seen, fresh, marks) SELECT rank, seen, fresh, marks FROM models_documents WHERE id = NEW.id;
	INSERT INTO reading (text, owner, uses) SELECT text, owner, 1 FROM models_texts WHERE id = NEW.id;
	INSERT INTO reading (text, owner, uses)
		SELECT substr(OLD.name || ' ' || OLD.description || ' ' || OLD.overview, 1, 1000),
			CASE OLD.visibility WHEN 'private' THEN (SELECT seq FROM users WHERE id = OLD.owner_id) ELSE 0 END, -1;
END;
--> statement-breakpoint
CREATE TRIGGER uploads_sized AFTER INSERT ON uploads BEGIN
	INSERT INTO file_bytes (user_id, bytes) VALUES (NEW.user_id, NEW.size)
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER uploads_unsized AFTER DELETE ON uploads BEGIN
	UPDATE file_bytes SET bytes = bytes - OLD.size WHERE user_id = OLD.user_id;
END;
--> statement-breakpoint
-- The row of nobody has the sum of all accounts.
INSERT INTO account_bytes (user_id, bytes) VALUES ('', 0);
--> statement-breakpoint
CREATE TRIGGER account_bytes_added AFTER INSERT ON account_bytes WHEN NEW.user_id <> '' BEGIN
	UPDATE account_bytes SET bytes = bytes + NEW.bytes WHERE user_id = '';
END;
--> statement-breakpoint
CREATE TRIGGER account_bytes_changed AFTER UPDATE OF bytes ON account_bytes WHEN NEW.user_id <> '' BEGIN
	UPDATE account_bytes SET bytes = bytes + NEW.bytes - OLD.bytes WHERE user_id = '';
END;
--> statement-breakpoint
CREATE TRIGGER account_bytes_removed AFTER DELETE ON account_bytes WHEN OLD.user_id <> '' BEGIN
	UPDATE account_bytes SET bytes = bytes - OLD.bytes WHERE user_id = '';
END;
--> statement-breakpoint
-- An upload that a collaborator publishes becomes the owner's, with its bytes. It is completed, so it has no parts.
CREATE TRIGGER uploads_moved AFTER UPDATE OF user_id ON uploads WHEN OLD.user_id <> NEW.user_id BEGIN
	UPDATE file_bytes SET bytes = bytes - OLD.size WHERE user_id = OLD.user_id;
	INSERT INTO file_bytes (user_id, bytes) VALUES (NEW.user_id, NEW.size)
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
	UPDATE account_bytes SET bytes = bytes - (512 + length(CAST(coalesce(OLD.name, '') AS BLOB))) WHERE user_id = OLD.user_id;
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.user_id, 512 + length(CAST(coalesce(NEW.name, '') AS BLOB)))
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

--> statement-breakpoint
-- An owner's models and deployments share their names.
CREATE TRIGGER models_named_apart BEFORE INSERT ON models
	WHEN EXISTS (SELECT 1 FROM deployments WHERE owner_id = NEW.owner_id AND name = NEW.name) BEGIN
	SELECT RAISE(ABORT, 'UNIQUE constraint failed: deployments.name');
END;
--> statement-breakpoint
CREATE TRIGGER models_renamed_apart BEFORE UPDATE OF name ON models WHEN NEW.name <> OLD.name
	AND EXISTS (SELECT 1 FROM deployments WHERE owner_id = NEW.owner_id AND name = NEW.name) BEGIN
	SELECT RAISE(ABORT, 'UNIQUE constraint failed: deployments.name');
END;
--> statement-breakpoint
CREATE TRIGGER deployments_named_apart BEFORE INSERT ON deployments
	WHEN EXISTS (SELECT 1 FROM models WHERE owner_id = NEW.owner_id AND name = NEW.name) BEGIN
	SELECT RAISE(ABORT, 'UNIQUE constraint failed: models.name');
END;
--> statement-breakpoint
-- A version stays while a deployment of its owner runs it; a model is deleted with its versions (models_deleted).
-- Deployments of others hold nothing.
CREATE TRIGGER versions_deployed BEFORE DELETE ON versions
	WHEN EXISTS (SELECT 1 FROM releases JOIN deployments ON deployments.id = deployment_id
		WHERE model_id = OLD.model_id AND version_number = OLD.number AND number IN (release, next_release)
			AND owner_id = (SELECT owner_id FROM models WHERE id = OLD.model_id)) BEGIN
	SELECT RAISE(ABORT, 'FOREIGN KEY constraint failed: releases.version_number');
END;
--> statement-breakpoint
CREATE TRIGGER deployments_weighed AFTER INSERT ON deployments BEGIN
	INSERT INTO account_bytes (user_id, bytes) VALUES (NEW.owner_id, 512)
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
-- Releases go first, so that releases_unweighed can still find their owner.
CREATE TRIGGER deployments_unweighed BEFORE DELETE ON deployments BEGIN
	DELETE FROM releases WHERE deployment_id = OLD.id;
	UPDATE account_bytes SET bytes = bytes - 512 WHERE user_id = OLD.owner_id;
END;
--> statement-breakpoint
CREATE TRIGGER releases_weighed AFTER INSERT ON releases BEGIN
	INSERT INTO account_bytes (user_id, bytes)
		SELECT owner_id, 512 + length(CAST(coalesce(NEW.probe, '') AS BLOB)) FROM deployments WHERE id = NEW.deployment_id
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER releases_unweighed AFTER DELETE ON releases BEGIN
	UPDATE account_bytes SET bytes = bytes - (512 + length(CAST(coalesce(OLD.probe, '') AS BLOB)))
		WHERE user_id = (SELECT owner_id FROM deployments WHERE id = OLD.deployment_id);
END;
