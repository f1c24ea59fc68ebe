// Built without any protection. check_hardening.sh must report all of them.
#include <cstdio>
#include <cstring>

int main(int count, char** arguments) {
  char name[64];
  std::strcpy(name, count > 1 ? arguments[1] : OCELLUS_PLANTED_PATH);
  std::puts(name);
  return 0;
}
