package sandbox

const (
	filterArch     = 0xc00000b7 // AUDIT_ARCH_AARCH64
	sysMemfdCreate = 279
	sysBPF         = 280
	sysSetns       = 268
)
