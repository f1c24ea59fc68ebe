// A bug for check_symbols.sh: an allocation in a function that runs with every frame.
namespace ocellus {

struct Planted {
  void submit();
  int* room = nullptr;
};

void Planted::submit() {
  room = new int[16];
}

}  // namespace ocellus
